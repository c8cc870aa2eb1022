import { parseArgs, styleText } from "node:util";
import { type Devnet, startDevnet } from "./devnet.ts";
import { DevnetError, oneLine } from "./devnet-error.ts";

/** `npm start`: ends with 0 when it is told to stop, else with one line and 1. */
const HELP = `npm start                continues where the last start stopped, or begins
npm start -- --fresh     begins anew

Settings, as environment variables:
  GATEWAY_PORT, PROVIDER_PORT, RELAY_PORT   ports (8787, 8788, 8790); 0 for any free one
  CHAIN_PORT                                the primary chain's (8545); the secondary chains have the next two,
  SECONDARY1_PORT, SECONDARY2_PORT          or these
  DEVNET_DIR                                where its state is kept (.devnet)
  UPSTREAM_PROFILE                          a provider by name, in place of the simulator: docs/providers/
  UPSTREAM_BASE_URL, UPSTREAM_API_KEY       its URL and key, or those of any OpenAI-compatible provider
  PRICES_FILE                               its prices, if its catalogue has none
  MODEL_ALIASES                             '{"our-name":"model-id"}'
and the gateway's other settings.
`;

// Its folder has development keys, and its logs have requests: they are for the user who started it.
process.umask(0o077);
try {
  await main();
} catch (error) {
  fail(oneLine(error));
}

async function main(): Promise<void> {
  const { fresh, help } = readFlags();
  if (help) {
    process.stdout.write(HELP);
    return;
  }
  const abort = new AbortController();
  let devnet: Devnet | undefined;
  let toldAt: number | undefined;
  const tell = (): void => {
    const now = performance.now();
    // One Ctrl-C may arrive twice, from the terminal and from npm; a later one means it.
    if (toldAt !== undefined && now - toldAt > 1_000) process.exit(130);
    if (toldAt !== undefined) return;
    toldAt = now;
    progress("Stopping ...");
    abort.abort();
    void devnet?.stop().then(
      () => process.exit(0),
      (error: unknown) => fail(oneLine(error)),
    );
  };
  // Until it first waits it has started nothing, and a signal ends us as it ends any program, whatever we are busy
  // with.
  const starting = startDevnet({ environment: process.env, fresh, onProgress: progress, signal: abort.signal });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, tell);
  try {
    devnet = await starting;
  } catch (error) {
    if (abort.signal.aborted) process.exit(0);
    throw error;
  }
  show(devnet);
  const failure = await devnet.failure;
  fail(failure.message);
}

function readFlags(): { fresh: boolean; help: boolean } {
  try {
    const { values } = parseArgs({
      options: { fresh: { type: "boolean", default: false }, help: { type: "boolean", short: "h", default: false } },
    });
    return values;
  } catch (error) {
    throw new DevnetError(`${oneLine(error)} The flags are --fresh and --help.`);
  }
}

function show({ ready, curl, readyFile }: Devnet): void {
  const line = (label: string, text: string): string => `${bold(label.padEnd(11))}${text}\n`;
  process.stdout.write(
    [
      "\n",
      line("Dashboard", `${ready.gatewayUrl}/  in a browser, with a wallet that needs no extension`),
      line("Gateway", ready.gatewayUrl),
      line("Docs", `${ready.gatewayUrl}/docs`),
      line("API key", ready.apiKey),
      line("Try", "paste this into another terminal:"),
      `\n${curl}\n\n`,
      line("Details", `${readyFile} (chains, contracts, wallets)`),
      line("Stop", "Ctrl-C; npm start continues then, npm start -- --fresh begins anew"),
    ].join(""),
  );
}

/** Bold on a terminal, unless NO_COLOR says otherwise. */
function bold(text: string): string {
  return styleText("bold", text, { stream: process.stdout });
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
