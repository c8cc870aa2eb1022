import { readFileSync, statSync } from "node:fs";
import { parseEnv } from "node:util";
import { httpUrl } from "@inference/gateway/setting-fields";
import { gatewaySettings, SettingsError } from "@inference/gateway/settings";
import { ownValue } from "@inference/protocol/own-value";
import * as z from "zod";
import { log } from "./log.ts";

/** The gateway's settings, and those of a host with a disk and a port. */
export const nodeSettings = z.object({
  ...gatewaySettings.shape,
  HOST: z.string().default("127.0.0.1").describe("Address to listen on."),
  PORT: z
    .string()
    .regex(/^\d{1,5}$/, "must be a port number")
    .transform(Number)
    .refine((port) => port <= 65_535, "must be a port number, at most 65535")
    .default(8787)
    .describe("Port to listen on. 0 for any free port."),
  DATABASE_FILE: z
    .string()
    .default("gateway.sqlite")
    .describe("SQLite file of the ledger. SQLite's WAL and the key-value store are next to it."),
  DATABASE_SYNCHRONOUS: z
    .enum(["FULL", "NORMAL"])
    .default("FULL")
    .describe("`FULL` survives a power failure, `NORMAL` a crash of the process only."),
  DASHBOARD_SCRIPT: z
    .string()
    .optional()
    .describe("JavaScript file that the dashboard loads first, for development. BASE_URL must be on this machine."),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe(
      "URL of an OpenTelemetry collector, such as `http://127.0.0.1:4318`, that gets a span of each request by OTLP over HTTP. Without it there is no tracing.",
    ),
  SETTLER_KEYSTORE: z
    .string()
    .optional()
    .describe("A Foundry keystore file with the settler's key, in place of SETTLER_PRIVATE_KEY."),
  SETTLER_KEYSTORE_PASSWORD_FILE: z
    .string()
    .optional()
    .describe("File with the keystore's password. A line break at its end is not part of it."),
  SETTLER_KEYSTORE_PASSWORD: z
    .string()
    .optional()
    .describe("The keystore's password, in place of SETTLER_KEYSTORE_PASSWORD_FILE."),
});
export type NodeSettings = z.infer<typeof nodeSettings>;

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
