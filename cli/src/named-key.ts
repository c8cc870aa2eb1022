import { type Connection, listKeys } from "@inference/sdk";
import { CommandError } from "./errors.ts";

/** The id of the key with this id, or with this name if no other key has it. Throws `CommandError`. */
export async function keyIdOf(connection: Connection, text: string): Promise<string> {
  const keys = await listKeys(connection);
  if (keys.some(({ id }) => id === text)) return text;
  const named = keys.filter(({ name }) => name === text);
  const [found, ...others] = named;
  if (found === undefined) {
    throw new CommandError(`This account has no key \`${text}\`. \`infer keys list\` shows its keys.`);
  }
  if (others.length === 0) return found.id;
  const ids = named.map(({ id, label }) => `${id} (${label})`).join(", ");
  throw new CommandError(`${named.length} keys are called \`${text}\`. Name one by its id: ${ids}.`);
}
