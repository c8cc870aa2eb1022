import * as z from "zod";
import type { Context } from "./context.ts";
import { CommandError } from "./errors.ts";

const FILE = "login.json";

/** The signer of this login. A private key is never copied. */
export const signer = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("keystore"), file: z.string() }),
  z.strictObject({ type: z.literal("devnet"), readyFile: z.string(), wallet: z.int().min(0) }),
  /** A wallet in the browser, or a key that was an option. */
  z.strictObject({ type: z.literal("elsewhere") }),
]);
export type Signer = z.infer<typeof signer>;

const schema = z.strictObject({
  gateway: z.url(),
  address: z.string(),
  apiKey: z.string(),
  keyId: z.string(),
  signer,
  chains: z.record(
    z.string(),
    z.strictObject({
      rpcUrl: z.string().optional(),
      contracts: z.record(z.string(), z.string()).optional(),
      maxCostWei: z.string().optional(),
    }),
  ),
});
export type Login = z.infer<typeof schema>;

/** The stored login; undefined: none. */
export function readLogin({ folder }: Pick<Context, "folder">): Login | undefined {
  const kept = folder.readJson(FILE);
  if (kept === undefined) return undefined;
  const login = schema.safeParse(kept);
  if (login.success) return login.data;
  throw new CommandError(`${folder.path}/${FILE} is of another version: run \`infer login\` again.`);
}

export function forgetLogin({ folder }: Pick<Context, "folder">): void {
  folder.remove(FILE);
}

export function keepLogin({ folder }: Pick<Context, "folder">, login: Login): void {
  folder.writeJson(FILE, login);
}
