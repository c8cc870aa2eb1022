import { formatSiweMessage } from "@inference/protocol/siwe";
import { generateSiweNonce } from "viem/siwe";
import { gatewayTime } from "./clock.ts";
import type { Connection } from "./connection.ts";
import { readChain } from "./directory.ts";
import { ClientError, fromWallet, RefusedError } from "./errors.ts";
import { type RequestOptions, request } from "./request.ts";

const open = new WeakMap<Connection, Promise<string>>();

/** Signs in, once for a connection. The session lasts a day. */
export function signIn(connection: Connection): Promise<string> {
  const { session } = connection;
  return (
    open.get(connection) ?? kept(connection, session === null ? openSession(connection) : Promise.resolve(session))
  );
}

/** The session of the connection from now on, unless it cannot be opened. */
function kept(connection: Connection, session: Promise<string>): Promise<string> {
  open.set(connection, session);
  session.catch(() => open.delete(connection));
  return session;
}

async function openSession(connection: Connection): Promise<string> {
  const { account, gateway } = connection;
  if (account === null) throw new ClientError("no_credential", "Give the client an API key, or an account that signs.");
  const { chain_id: chainId } = await readChain(connection);
  const message = formatSiweMessage({
    domain: new URL(gateway).host,
    address: account.address,
    uri: gateway,
    version: "1",
    chainId,
    nonce: generateSiweNonce(),
    issuedAt: await gatewayTime(connection),
    resources: [],
  });
  const body = { message, signature: await fromWallet(account.signMessage({ message })) };
  return (await request<{ token: string }>(connection, "/auth", { method: "POST", body })).token;
}

/** A request with a session of the account. A session that has ended is opened again, once. */
export async function requestAsOwner<T>(
  connection: Connection,
  path: string,
  options: Omit<RequestOptions, "bearer"> = {},
): Promise<T> {
  try {
    return await request(connection, path, { ...options, bearer: await signIn(connection) });
  } catch (error) {
    const isOver =
      error instanceof RefusedError && (error.code === "session_expired" || error.code === "invalid_session");
    if (!isOver) throw error;
    return request(connection, path, { ...options, bearer: await kept(connection, openSession(connection)) });
  }
}

/** A request with the API key, or without one with a session. */
export function requestAsReader<T>(
  connection: Connection,
  path: string,
  options: Omit<RequestOptions, "bearer"> = {},
): Promise<T> {
  const { apiKey } = connection;
  return apiKey === null
    ? requestAsOwner(connection, path, options)
    : request(connection, path, { ...options, bearer: apiKey });
}
