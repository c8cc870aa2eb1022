import { startProviderSimulator } from "./server.ts";
import { DEFAULT_SETTINGS, readSettings, type Settings } from "./settings.ts";

/** The devnet starts this program for people. A test in the same process gets awkward answers, and all models. */
const FOR_PEOPLE = { answerText: "english", simulatorFaults: 0 } as const;

try {
  const names = Object.keys(DEFAULT_SETTINGS) as (keyof Settings)[];
  const simulator = await startProviderSimulator({
    ...readSettings({ ...FOR_PEOPLE, ...Object.fromEntries(names.flatMap(settingOf)) }),
    port: numberOf("PORT"),
    host: textOf("HOST"),
    masterKey: textOf("MASTER_KEY"),
    adminKey: textOf("ADMIN_KEY"),
    seed: numberOf("SEED"),
  });
  console.log(`provider simulator ready at ${simulator.url}`);
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => void simulator.close().then(() => process.exit(0)));
  }
} catch (error) {
  console.error(`provider simulator cannot start: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

/** The variable of `abortBilling` is `ABORT_BILLING`. */
function settingOf(name: keyof Settings): [string, unknown][] {
  const variable = name.replace(/[A-Z]/g, "_$&").toUpperCase();
  const text = textOf(variable);
  if (text === undefined) return [];
  if (typeof DEFAULT_SETTINGS[name] === "string") return [[name, text]];
  return [[name, text === "off" ? null : numberOf(variable)]];
}

function numberOf(variable: string): number | undefined {
  const text = textOf(variable);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${variable} must be a whole number, not ${text}`);
  return value;
}

function textOf(variable: string): string | undefined {
  return process.env[variable] || undefined;
}
