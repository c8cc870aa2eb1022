import { type Connection, type DirectoryChain, readDirectory } from "@inference/sdk";
import { UsageError } from "./errors.ts";

/** The chain with this id or name; absent: the primary chain. Throws {@link UsageError}. */
export async function findChain(connection: Connection, text: string | undefined): Promise<DirectoryChain> {
  const { chains } = await readDirectory(connection);
  const found = chains.find(({ role, name, chain_id: id }) =>
    text === undefined ? role === "primary" : name === text || String(id) === text,
  );
  if (found !== undefined) return found;
  const known = chains.map(({ chain_id: id, name }) => (name === null ? String(id) : `${id} (${name})`)).join(", ");
  throw new UsageError(`There is no chain \`${text}\` here. The chains are ${known}.`);
}
