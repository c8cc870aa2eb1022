import { gatewaySettings } from "@inference/gateway/settings";
import * as z from "zod";

/** The gateway's settings, and what only a host with a disk and a port has. */
export const nodeSettings = z.object({
  ...gatewaySettings.shape,
  HOST: z.string().default("127.0.0.1").describe("The address to listen on."),
  PORT: z
    .string()
    .regex(/^\d{1,5}$/, "must be a port number")
    .transform(Number)
    .refine((port) => port <= 65_535, "must be a port number, at most 65535")
    .default(8787)
    .describe("The port to listen on; 0 for any free one."),
  DATABASE_FILE: z
    .string()
    .default("gateway.sqlite")
    .describe("The ledger's file. Beside it lie its log, its lock and a cache, named after it."),
  DATABASE_SYNCHRONOUS: z
    .enum(["FULL", "NORMAL"])
    .default("FULL")
    .describe("FULL survives a power cut; NORMAL survives the process only."),
});
export type NodeSettings = z.infer<typeof nodeSettings>;
