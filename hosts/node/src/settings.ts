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
  GATEWAY_THREADS: z
    .string()
    .regex(/^([1-9]|[1-5]\d|6[0-4])$/, "must be a number of threads, 1 to 64")
    .transform(Number)
    .optional()
    .describe(
      "Threads that serve HTTP beside the ledger's thread. With 1, the ledger's thread serves it. " +
        "Without it, 1 on up to two cores, else one fewer than there are cores, at most 16.",
    ),
  DATABASE_FILE: z
    .string()
    .default("gateway.sqlite")
    .describe("SQLite file of the ledger. Its log and cache files are next to it."),
  DATABASE_SYNCHRONOUS: z
    .enum(["FULL", "NORMAL"])
    .default("FULL")
    .describe("`FULL` survives a power failure, `NORMAL` a crash of the process only."),
  DASHBOARD_SCRIPT: z
    .string()
    .optional()
    .describe("JavaScript file that the dashboard loads first, for development. BASE_URL must be on this machine."),
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
