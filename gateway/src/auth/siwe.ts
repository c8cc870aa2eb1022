import { type Address, lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import type { Hex } from "@inference/protocol/plain-signature";
import { parseSiweMessage, type SiweMessage } from "@inference/protocol/siwe";
import { hashMessage } from "viem/utils";
import { type GatewayConfig, limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";
import { isSigned } from "./is-signed.ts";

/**
 * Signed messages. A message has one purpose, which is in the text that the wallet showed. A message that names the key
 * endpoint creates, rolls or changes a key, and cannot sign in. Any other message can only sign in.
 */
export type SignedMessage = {
  message: string;
  signature: Hex;
  /** The client's address; undefined if it is unknown. */
  client: string | undefined;
};

/** The signer, and the nonce that makes the message valid once. */
export type Signer = {
  address: Address;
  nonce: string;
  /** When the message becomes invalid. The nonce is kept until then. */
  nonceExpiresAt: number;
};

/** Throws 401 with the reason, 503 `chain_unavailable` or `overloaded` if a contract wallet could not be asked. */
export async function verifySignIn(gateway: Gateway, signed: SignedMessage, atMs: number): Promise<Signer> {
  const message = readMessage(gateway.config, signed.message, atMs);
  const endpoint = keyEndpoint(gateway.config);
  if (message.resources.some((resource) => leadsTo(resource, endpoint))) {
    const routes = `POST ${endpoint}, or to /roll or /limit below the key's own URL`;
    fail("siwe_malformed", `This message is about an API key: send it to ${routes}, or sign one without it.`);
  }
  return requireSignature(gateway, message, signed);
}

/** The purpose of a message about an API key: a new key, a new secret, or new terms. */
export type KeyPurpose = { type: "create" } | { type: "roll" | "terms"; keyId: string };

/**
 * The same for a message about an API key. Its only resource is the key endpoint with the terms of a new key, the path
 * that rolls a key, or the URL of a key with its new terms.
 */
export async function verifyKeyRequest(
  gateway: Gateway,
  signed: SignedMessage,
  purpose: KeyPurpose,
  atMs: number,
): Promise<{ signer: Signer; resource: string }> {
  const message = readMessage(gateway.config, signed.message, atMs);
  const url = urlOf(keyEndpoint(gateway.config), purpose);
  const [resource, ...others] = message.resources;
  if (resource === undefined || others.length > 0 || !isMeant(resource, url, purpose)) {
    fail("siwe_malformed", `The message must have exactly one resource, such as ${url}${examples[purpose.type]}.`);
  }
  return { signer: await requireSignature(gateway, message, signed), resource };
}

/** Parses a message. Throws unless it is for this gateway and valid now. */
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
    const metadata = { chain_id: message.chainId, chain_ids: config.chainIds };
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
    fail(
      "siwe_expired",
      `The message was issued more than ${minutes} minutes ago. Sign a new one. The gateway's time is ${now}.`,
    );
  }
  if (expirationTime !== undefined && atMs >= expirationTime) {
    fail("siwe_expired", `The message has expired. Sign a new one. The gateway's time is ${now}.`);
  }
  if (issuedAt - atMs > MAX_AHEAD_MS || (notBefore !== undefined && atMs < notBefore)) {
    fail("siwe_expired", `The message's time is in the future. Check your clock. The gateway's time is ${now}.`);
  }
}

async function requireSignature(gateway: Gateway, message: SiweMessage, signed: SignedMessage): Promise<Signer> {
  const { address } = message;
  const { signature, client } = signed;
  // The same address on another chain may be a contract of somebody else, who could then open this account.
  const mayBeContract = message.chainId === gateway.config.chainIds[0];
  const query = { address, hash: hashMessage(signed.message), signature, client, mayBeContract };
  if (!(await isSigned(gateway, query))) notSigned(gateway.config, message);
  return {
    address: lowerAddress(address),
    nonce: message.nonce,
    nonceExpiresAt: Math.min(message.issuedAt + limits.messageMs, message.expirationTime ?? Number.POSITIVE_INFINITY),
  };
}

function notSigned({ chainIds: [primary] }: GatewayConfig, { address, chainId }: SiweMessage): never {
  const alone = chainId === primary ? "" : ` A contract's wallet signs messages of chain ${primary} alone.`;
  const message = `The signature is not by ${address} over this message for chain ${chainId}.${alone}`;
  return fail("invalid_signature", message);
}

function keyEndpoint(config: GatewayConfig): string {
  return `${config.baseUrl}/api/v1/keys`;
}

/** The one resource of a message for this purpose, without its query. */
function urlOf(endpoint: string, purpose: KeyPurpose): string {
  if (purpose.type === "create") return endpoint;
  return `${endpoint}/${purpose.keyId}${purpose.type === "roll" ? "/roll" : ""}`;
}

/** Examples of queries; empty for a purpose without terms. */
const examples = {
  create: "?name=laptop&limit=5.00&limit_reset=daily",
  roll: "",
  terms: "?limit=20.00&limit_reset=daily",
} as const;

/** Whether a resource is exactly the URL, with a query if the purpose has terms. */
function isMeant(resource: string, url: string, { type }: KeyPurpose): boolean {
  if (!resource.startsWith(url)) return false;
  const query = resource.slice(url.length);
  return examples[type] === "" ? query === "" : /^(\?[^#]*)?$/.test(query);
}

/** Whether a resource is a URL of the endpoint or below it, in any spelling. */
function leadsTo(resource: string, endpoint: string): boolean {
  const url = URL.parse(resource);
  const { host, pathname } = new URL(endpoint);
  return url !== null && url.host === host && url.pathname.startsWith(pathname);
}
