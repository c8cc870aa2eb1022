import { type Address, lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import { parseSiweMessage, type SiweMessage } from "@inference/protocol/siwe";
import { type GatewayConfig, limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";
import { checkPlainSignature, type Hex } from "./signature.ts";

/**
 * Signed messages. One message serves one purpose: what it asks for is in the text that the wallet showed. A message
 * that names the key endpoint makes or rolls a key and signs nobody in; any other signs in and makes no key.
 */
export type SignedMessage = {
  message: string;
  signature: Hex;
  /** Whose address it came from; undefined where nobody knows. */
  client: string | undefined;
};

/** Who signed, and the nonce that makes the message good once. */
export type Signer = {
  address: Address;
  nonce: string;
  /** When the message can no longer be valid: until then the nonce is remembered. */
  nonceExpiresAt: number;
};

/** Throws 401 with the reason, 503 `chain_unavailable` or `overloaded` where a contract wallet could not be asked. */
export async function verifySignIn(gateway: Gateway, signed: SignedMessage, atMs: number): Promise<Signer> {
  const message = readMessage(gateway.config, signed.message, atMs);
  const endpoint = keyEndpoint(gateway.config);
  if (message.resources.some((resource) => leadsTo(resource, endpoint))) {
    fail("siwe_malformed", `This message asks for an API key: send it to POST ${endpoint}, or sign one without it.`);
  }
  return requireSignature(gateway, message, signed);
}

/**
 * The same for a message that asks for an API key's secret. Its one resource is the endpoint with a new key's terms, or
 * the path that rolls a key.
 *
 * @param rolledKeyId The key to be rolled; null for a new one.
 */
export async function verifyKeyRequest(
  gateway: Gateway,
  signed: SignedMessage,
  rolledKeyId: string | null,
  atMs: number,
): Promise<{ signer: Signer; resource: string }> {
  const message = readMessage(gateway.config, signed.message, atMs);
  const endpoint = keyEndpoint(gateway.config);
  const [resource, ...others] = message.resources;
  if (resource === undefined || others.length > 0 || !isMeant(resource, endpoint, rolledKeyId)) {
    const terms = rolledKeyId === null ? "?name=laptop&limit=5.00&limit_reset=daily" : rollPath(rolledKeyId);
    fail("siwe_malformed", `A message for this has exactly one resource, what is asked for, like ${endpoint}${terms}.`);
  }
  return { signer: await requireSignature(gateway, message, signed), resource };
}

/** The message, if it is for us and for now. */
function readMessage(config: GatewayConfig, text: string, atMs: number): SiweMessage {
  const message = parseSiweMessage(text);
  if (message === undefined) {
    const message =
      "The message is not one of EIP-4361: check its lines, the capitals of its address and its nonce of 8 or more letters and digits.";
    return fail("siwe_malformed", message);
  }
  const { protocol, host } = new URL(config.baseUrl);
  const scheme = message.scheme ?? protocol.slice(0, -1);
  const isOurs = message.uri === config.baseUrl || message.uri.startsWith(`${config.baseUrl}/`);
  if (message.domain.toLowerCase() !== host || `${scheme.toLowerCase()}:` !== protocol || !isOurs) {
    fail("siwe_domain_mismatch", `Sign a message with the domain ${host} and a URI under ${config.baseUrl}.`);
  }
  if (!config.chainIds.includes(message.chainId)) {
    const allowed = config.chainIds.join(", ");
    const metadata = { chain_id: message.chainId, chain_ids: allowed };
    fail("siwe_chain_unsupported", `Sign a message with one of these chain ids: ${allowed}.`, { metadata });
  }
  assertTimes(message, atMs);
  return message;
}

const MAX_AHEAD_MS = 60_000;

function assertTimes({ issuedAt, notBefore, expirationTime }: SiweMessage, atMs: number): void {
  const now = new Date(atMs).toISOString();
  if (atMs - issuedAt > limits.messageMs) {
    const minutes = limits.messageMs / 60_000;
    fail("siwe_expired", `The message was issued more than ${minutes} minutes ago: sign a new one. It is ${now} here.`);
  }
  if (expirationTime !== undefined && atMs >= expirationTime) {
    fail("siwe_expired", `The message has expired: sign a new one. It is ${now} here.`);
  }
  if (issuedAt - atMs > MAX_AHEAD_MS || (notBefore !== undefined && atMs < notBefore)) {
    fail("siwe_expired", `The message is for a later time: check the clock it was made by. It is ${now} here.`);
  }
}

async function requireSignature(gateway: Gateway, message: SiweMessage, signed: SignedMessage): Promise<Signer> {
  const { address } = message;
  const plain = await checkPlainSignature({ address, message: signed.message, signature: signed.signature });
  if (plain === "high_s") fail("invalid_signature", "The signature's s is in the upper half: sign again.");
  // The account's own key needs no chain, so that a failing chain keeps nobody out who has one.
  if (plain === "other" && !(await isAcceptedByContract(gateway, message, signed))) notSigned(gateway.config, message);
  return {
    address: lowerAddress(address),
    nonce: message.nonce,
    nonceExpiresAt: Math.min(message.issuedAt + limits.messageMs, message.expirationTime ?? Number.POSITIVE_INFINITY),
  };
}

/**
 * A contract is asked on the primary chain only, where balances and capacity live: the same address on another chain
 * may be another's contract, whose word would open this one's account. The body's limit bounds the signature's size,
 * and a gate how many are asked at once, in all and for one client: any bytes under a message in order come this far.
 */
async function isAcceptedByContract(
  { config, environment, contractSignatures }: Gateway,
  { address, chainId }: SiweMessage,
  { message, signature, client }: SignedMessage,
): Promise<boolean> {
  const [primaryChainId] = config.chainIds;
  if (chainId !== primaryChainId) return false;
  const query = { chainId, address, message, signature };
  return contractSignatures(() => environment.chain.acceptsSignature(query), client);
}

function notSigned({ chainIds: [primary] }: GatewayConfig, { address, chainId }: SiweMessage): never {
  const alone = chainId === primary ? "" : ` A contract's wallet signs messages of chain ${primary} alone.`;
  const message = `The signature is not one by ${address} over this message on chain ${chainId}.${alone}`;
  return fail("invalid_signature", message);
}

function keyEndpoint(config: GatewayConfig): string {
  return `${config.baseUrl}/api/v1/keys`;
}

/**
 * Whether a resource is this to the letter: the endpoint, with or without a query, or the path below it that rolls a
 * key.
 */
function isMeant(resource: string, endpoint: string, rolledKeyId: string | null): boolean {
  if (!resource.startsWith(endpoint)) return false;
  const rest = resource.slice(endpoint.length);
  return rolledKeyId === null ? /^(\?[^#]*)?$/.test(rest) : rest === rollPath(rolledKeyId);
}

function rollPath(keyId: string): string {
  return `/${keyId}/roll`;
}

/** Whether a resource means the endpoint, however it is written. */
function leadsTo(resource: string, endpoint: string): boolean {
  const url = URL.parse(resource);
  const { host, pathname } = new URL(endpoint);
  return url !== null && url.host === host && url.pathname.startsWith(pathname);
}
