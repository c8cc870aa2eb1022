import { parseArgs } from "node:util";
import { SettingsError } from "@inference/gateway/settings";
import manifest from "../package.json" with { type: "json" };

/** The commands, with the least and the most words that follow them. */
const wordCounts = { backup: [1, 1], restore: [1, 2], "receipt-key": [0, 0] } as const;

export type Arguments = {
  check: boolean;
  /** The settings file. */
  file?: string;
  command?: keyof typeof wordCounts;
  words: string[];
};

const usage = `Usage: npm run gateway -- [options] [command]

Runs the gateway. docs/configuration.md lists its settings, docs/operating.md its log and metrics.

Commands:
  backup <file>                   Copy the ledger into a new file, also while the gateway runs.
  restore <partition> [<backup>]  Restore a part of the ledger while the gateway is stopped: account:<address>,
                                  identity:<address>, ceiling or chain. See docs/restoring.md.
  receipt-key                     Print the public key of signed receipts.

Options:
  --settings <file>  Read settings from a file of NAME=value lines. A variable of the environment takes precedence.
  --check            Check the settings, the provider's key, prices and answers, then end.
  --help             Print this text.
  --version          Print the version.
`;

/** Reads the words of a command line. A text is to be printed in place of anything else. */
export function readArguments(args: readonly string[]): Arguments | string {
  const options = {
    check: { type: "boolean", default: false },
    settings: { type: "string" },
    help: { type: "boolean", short: "h" },
    version: { type: "boolean" },
  } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  if (values.help) return usage;
  if (values.version) return `${manifest.version}\n`;
  const { check, settings: file } = values;
  const given = { check, ...(file === undefined ? {} : { file }) };
  const [name, ...words] = positionals;
  if (name === undefined) return { ...given, words };
  if (isCommand(name)) {
    const [least, most] = wordCounts[name];
    if (words.length >= least && words.length <= most) return { ...given, command: name, words };
  }
  throw new SettingsError(
    `There is no command \`${positionals.join(" ")}\`: only \`backup <file>\`, \`restore <partition> [<backup>]\` and ` +
      "`receipt-key`.",
  );
}

function isCommand(name: string): name is keyof typeof wordCounts {
  return Object.hasOwn(wordCounts, name);
}
