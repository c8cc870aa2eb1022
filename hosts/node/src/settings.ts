import { httpUrl } from "@inference/gateway/setting-fields";
import { gatewaySettings } from "@inference/gateway/settings";
import * as z from "zod";

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
