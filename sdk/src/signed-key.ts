import type { Connection } from "./connection.ts";
import type { NewApiKey } from "./keys.ts";
import { request } from "./request.ts";

/** Sends a key message that was signed elsewhere, such as in a browser. A message is valid once. */
export function createSignedKey(
  connection: Connection,
  signed: { message: string; signature: string },
): Promise<NewApiKey> {
  return request(connection, "/api/v1/keys", { method: "POST", body: signed });
}
