import { getAddress } from "viem/utils";
import { type Address, isAddress } from "./credential.ts";

/**
 * Parses and writes the sign-in messages of EIP-4361, which a wallet shows and signs. Parsing follows the standard's
 * grammar exactly, and is stricter in four places: an address must have its EIP-55 capitals, a domain must not name a
 * user, a chain id must not have a leading zero, and a leap second is no valid time. Text that is no message is
 * undefined.
 *
 * Parsing does not check the domain's owner, the times or the signature.
 */
export type SiweMessage = {
  scheme?: string;
  /** Host and port, as written. */
  domain: string;
  /** With its EIP-55 capitals. */
  address: Address;
  /** Absent and empty are different texts. */
  statement?: string;
  uri: string;
  version: "1";
  chainId: number;
  nonce: string;
  /** Times in ms since the epoch, rounded down. */
  issuedAt: number;
  expirationTime?: number;
  notBefore?: number;
  requestId?: string;
  resources: readonly string[];
};

export const MAX_SIWE_LENGTH = 4_096;

export function parseSiweMessage(text: string): SiweMessage | undefined {
  if (text.length > MAX_SIWE_LENGTH) return undefined;
  const lines = text.split("\n");
  const head = HEAD.exec(lines[0] ?? "");
  const address = lines[1] ?? "";
  if (head === null || !isChecksummed(address) || lines[2] !== "") return undefined;
  const [, scheme, domain = ""] = head;
  if (!isDomain(domain)) return undefined;
  const hasStatement = !(lines[3] === "" && lines[4]?.startsWith("URI: "));
  const statement = hasStatement ? lines[3] : undefined;
  if (hasStatement && (statement === undefined || !STATEMENT.test(statement) || lines[4] !== "")) return undefined;

  const field = fieldReader(lines, hasStatement ? 5 : 4);
  const uri = field("URI");
  const version = field("Version");
  const chainId = field("Chain ID");
  const nonce = field("Nonce");
  const issuedAt = parseTime(field("Issued At"));
  if (uri === undefined || !URI.test(uri) || version !== "1" || nonce === undefined || !NONCE.test(nonce))
    return undefined;
  if (chainId === undefined || !CHAIN_ID.test(chainId) || !Number.isSafeInteger(Number(chainId))) return undefined;
  if (issuedAt === undefined) return undefined;

  const expirationText = field("Expiration Time");
  const notBeforeText = field("Not Before");
  const requestId = field("Request ID");
  const expirationTime = parseTime(expirationText);
  const notBefore = parseTime(notBeforeText);
  if (expirationText !== undefined && expirationTime === undefined) return undefined;
  if (notBeforeText !== undefined && notBefore === undefined) return undefined;
  if (requestId !== undefined && !REQUEST_ID.test(requestId)) return undefined;
  const resources = parseResources(field.rest());
  if (resources === undefined) return undefined;

  return {
    ...(scheme === undefined ? {} : { scheme }),
    domain,
    address,
    ...(statement === undefined ? {} : { statement }),
    uri,
    version,
    chainId: Number(chainId),
    nonce,
    issuedAt,
    ...(expirationTime === undefined ? {} : { expirationTime }),
    ...(notBefore === undefined ? {} : { notBefore }),
    ...(requestId === undefined ? {} : { requestId }),
    resources,
  };
}

/** The text of a message. Throws for invalid fields, so that the result always parses. */
export function formatSiweMessage(message: SiweMessage): string {
  const { scheme, domain, address, statement, expirationTime, notBefore, requestId, resources } = message;
  const lines = [
    `${scheme === undefined ? "" : `${scheme}://`}${domain}${GREETING}`,
    address,
    "",
    ...(statement === undefined ? [] : [statement]),
    "",
    `URI: ${message.uri}`,
    `Version: ${message.version}`,
    `Chain ID: ${message.chainId}`,
    `Nonce: ${message.nonce}`,
    `Issued At: ${new Date(message.issuedAt).toISOString()}`,
    ...(expirationTime === undefined ? [] : [`Expiration Time: ${new Date(expirationTime).toISOString()}`]),
    ...(notBefore === undefined ? [] : [`Not Before: ${new Date(notBefore).toISOString()}`]),
    ...(requestId === undefined ? [] : [`Request ID: ${requestId}`]),
    ...(resources.length === 0 ? [] : ["Resources:", ...resources.map((resource) => `- ${resource}`)]),
  ];
  const text = lines.join("\n");
  // With a line feed a field could contain another field. After the address it would be an empty statement.
  const isOfLines = lines.every((line) => !line.includes("\n"));
  if (!isOfLines || parseSiweMessage(text) === undefined) throw new TypeError("these fields make no sign-in message");
  return text;
}

// RFC 3986, rule by rule. Every repetition is of one character class, so that no text causes backtracking.
const GREETING = " wants you to sign in with your Ethereum account:";
const UNRESERVED = "A-Za-z0-9._~\\-";
const SUB_DELIMS = "!$&'()*+,;=";
const ESCAPE = "%[0-9A-Fa-f]{2}";
const PCHAR = `(?:[${UNRESERVED}${SUB_DELIMS}:@]|${ESCAPE})`;
const HOST = `(?:\\[[0-9A-Fa-f:.]+\\]|(?:[${UNRESERVED}${SUB_DELIMS}]|${ESCAPE})*)`;
const AUTHORITY = `(?:(?:[${UNRESERVED}${SUB_DELIMS}:]|${ESCAPE})*@)?${HOST}(?::[0-9]*)?`;
const SEGMENTS = `(?:/${PCHAR}*)*`;
const PATH = `(?://${AUTHORITY}${SEGMENTS}|/(?:${PCHAR}+${SEGMENTS})?|${PCHAR}+${SEGMENTS})?`;
const SCHEME = "[A-Za-z][A-Za-z0-9+.\\-]*";

const HEAD = new RegExp(`^(?:(${SCHEME})://)?(.+)${GREETING}$`);
const DOMAIN = new RegExp(`^${HOST}(?::[0-9]+)?$`);
const STATEMENT = new RegExp(`^[${UNRESERVED}${SUB_DELIMS}:/?#\\[\\]@ ]*$`);
const URI = new RegExp(`^${SCHEME}:${PATH}(?:\\?(?:${PCHAR}|[/?])*)?(?:#(?:${PCHAR}|[/?])*)?$`);
const REQUEST_ID = new RegExp(`^${PCHAR}*$`);
const CHAIN_ID = /^[1-9][0-9]*$/;
const NONCE = /^[A-Za-z0-9]{8,}$/;
const TIME = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

function isChecksummed(address: string): address is Address {
  return isAddress(address) && getAddress(address) === address;
}

/** The grammar of a host allows some that no browser would, such as a port above 65535. */
function isDomain(domain: string): boolean {
  return DOMAIN.test(domain) && URL.canParse(`http://${domain}`);
}

/** Reads the lines in order: the text of each field if it is the next line, and the rest at the end. */
function fieldReader(
  lines: readonly string[],
  start: number,
): { (name: string): string | undefined; rest(): string[] } {
  let next = start;
  const field = (name: string): string | undefined => {
    const line = lines[next];
    if (line === undefined || !line.startsWith(`${name}: `)) return undefined;
    next += 1;
    return line.slice(name.length + 2);
  };
  return Object.assign(field, { rest: () => lines.slice(next) });
}

function parseResources(lines: readonly string[]): string[] | undefined {
  const [title, ...items] = lines;
  if (title === undefined) return [];
  if (title !== "Resources:" || !items.every((item) => item.startsWith("- ") && URI.test(item.slice(2))))
    return undefined;
  return items.map((item) => item.slice(2));
}

/** RFC 3339 to ms. */
function parseTime(text: string | undefined): number | undefined {
  const match = TIME.exec(text ?? "");
  if (match === null) return undefined;
  const [, date, time, fraction = "", sign, hours = "0", minutes = "0"] = match;
  const written = `${date}T${time}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
  const local = Date.parse(written);
  // An invalid date, such as 30 February, would become another date.
  if (Number.isNaN(local) || new Date(local).toISOString() !== written) return undefined;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return sign === "-" ? local + offset : local - offset;
}
