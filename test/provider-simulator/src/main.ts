import { parseArgs } from "node:util";
import { type ProviderSimulatorOptions, startProviderSimulator } from "./server.ts";
import { DEFAULT_SETTINGS, isSettingName, readSettings } from "./settings.ts";

/** A flag wins over its environment variable: `--port` over `PORT`, `--abort-billing` over `ABORT_BILLING`. */
const NAMES = ["port", "host", "masterKey", "adminKey", "seed", ...Object.keys(DEFAULT_SETTINGS)];
/** The program is for people. A test in the same process gets awkward answers, and all models. */
const FOR_PEOPLE = { answerText: "english", simulatorFaults: 0 } as const;
const flags = Object.fromEntries(NAMES.map((name) => [kebab(name), { type: "string" as const }]));

try {
  const simulator = await startProviderSimulator(readOptions());
  console.log(`provider simulator ready at ${simulator.url}`);
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => void simulator.close().then(() => process.exit(0)));
  }
} catch (error) {
  console.error(`provider simulator cannot start: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}

function readOptions(): ProviderSimulatorOptions {
  const { values } = parseArgs({ options: flags });
  const given = (name: string): string | undefined => {
    const flag = values[kebab(name)];
    return typeof flag === "string" ? flag : process.env[kebab(name).replaceAll("-", "_").toUpperCase()];
  };
  const settings: Record<string, unknown> = {};
  for (const name of NAMES) {
    const text = given(name);
    if (text !== undefined && isSettingName(name)) settings[name] = settingValue(name, text);
  }
  return {
    ...readSettings({ ...FOR_PEOPLE, ...settings }),
    port: numberOf("port", given("port")),
    host: given("host"),
    masterKey: given("masterKey"),
    adminKey: given("adminKey"),
    seed: numberOf("seed", given("seed")),
  };
}

function settingValue(name: keyof typeof DEFAULT_SETTINGS, text: string): unknown {
  if (name === "errorBudget" || name === "requestsPerMinute") return text === "off" ? null : numberOf(name, text);
  return typeof DEFAULT_SETTINGS[name] === "number" ? numberOf(name, text) : text;
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${kebab(name)} must be a whole number, not ${text}`);
  return value;
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
