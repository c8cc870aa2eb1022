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
    .describe("SQLite file of the ledger. Its log and cache files are next to it."),
  DATABASE_SYNCHRONOUS: z
    .enum(["FULL", "NORMAL"])
    .default("FULL")
    .describe("`FULL` survives a power failure, `NORMAL` a crash of the process only."),
  SETTLER_PRIVATE_KEY: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, "must be a private key: 0x and 64 hexadecimal digits")
    .transform((text) => text as `0x${string}`)
    .optional()
    .describe("Private key of the settlement contract's settler, which pays the gas. Without it nothing is posted."),
  SETTLER_INTERVAL_MS: z
    .string()
    .regex(/^\d{1,9}$/, "must be a whole number of milliseconds")
    .transform(Number)
    .default(600_000)
    .describe("How long uses wait for others before they are posted together. A full batch is posted at once."),
});
export type NodeSettings = z.infer<typeof nodeSettings>;
