import { readFileSync, statSync } from "node:fs";
import { parseEnv } from "node:util";
import { SettingsError } from "@inference/gateway/settings";
import { ownValue } from "@inference/protocol/own-value";
import { log } from "./log.ts";
import { nodeSettings } from "./settings.ts";

/** Settings that the OpenTelemetry library reads by itself. */
const OF_OPENTELEMETRY = /^OTEL_/;

/**
 * Reads a file of NAME=value lines, as `node --env-file` does, into the environment. A variable that is in the
 * environment and not empty keeps its value. Warns if all users may read the file.
 *
 * @throws {@link SettingsError} if the file cannot be read, or has a name that is not a setting. It has no value.
 */
export function readSettingsFile(file: string, environment: NodeJS.ProcessEnv): void {
  const settings = parseEnv(textOf(file));
  const unknown = Object.keys(settings).filter(
    (name) => !Object.hasOwn(nodeSettings.shape, name) && !OF_OPENTELEMETRY.test(name),
  );
  if (unknown.length > 0) {
    const lines = unknown.map((name) => `\n  ${name}: is not a setting. docs/configuration.md lists all`);
    throw new SettingsError(`The gateway cannot start. Unknown names in ${file}:${lines.join("")}`);
  }
  const absent = Object.entries(settings).filter(([name]) => !ownValue(environment, name));
  Object.assign(environment, Object.fromEntries(absent));
}

function textOf(file: string): string {
  try {
    if ((statSync(file).mode & 0o004) !== 0)
      log("warn", "settings_file_readable", { file, action: `chmod 600 ${file}` });
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new SettingsError(`--settings: ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}
