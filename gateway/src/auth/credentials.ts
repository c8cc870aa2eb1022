import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { PayerCredential } from "@inference/ledger/commands";
import { accountPartition, agentPartition, identityPartition, type Partition } from "@inference/ledger/partition";
import { encodeBase32 } from "@inference/protocol/base32";
import {
  type Address,
  CHECKSUM_BYTES,
  type CredentialKind,
  credentialBody,
  credentialLabel,
  parseCredential,
  SECRET_BYTES,
} from "@inference/protocol/credential";
import type { Random } from "../environment.ts";
import { BoundedMap } from "../load/bounded-map.ts";

/** A credential with a valid checksum: this gateway issued it. It may be revoked or expired. */
export type VerifiedCredential = {
  subject: Address;
  /** The partition that has it. */
  partition: Partition;
  payer: PayerCredential;
};

export type Credentials = {
  /** Makes a new credential. Its text is never stored. */
  issue(kind: CredentialKind, subject: Address): { text: string; digest: string; label: string };
  /** Undefined for typing errors and forgeries. No partition is asked for those. */
  verify(text: string): VerifiedCredential | undefined;
  /** The credential of an account's requests that are paid by x402. It is derived, and nobody is ever told its text. */
  ofPayments(subject: Address): { credential: VerifiedCredential; label: string; keyId: string };
  /** A stable name of an account for the provider, which reveals nothing about it. */
  pseudonym(partition: Partition): string;
};

/**
 * @param secret The gateway's own secret: at least 32 bytes. Changing it invalidates every key and session.
 * @param previous An earlier secret, whose keys and sessions stay valid.
 */
export function makeCredentials(secret: Uint8Array, random: Random, previous?: Uint8Array): Credentials {
  const earlier = previous === undefined ? undefined : makeCredentials(previous, random);
  const hmac = (purpose: string, text: string): Buffer =>
    createHmac("sha256", secret).update(purpose).update(text).digest();
  const checksum = (body: string): string => encodeBase32(hmac("credential:", body).subarray(0, CHECKSUM_BYTES));
  const verified = new BoundedMap<string, VerifiedCredential>(MAX_REMEMBERED);
  const pseudonyms = new BoundedMap<string, string>(MAX_REMEMBERED);

  function check(text: string): VerifiedCredential | undefined {
    const credential = parseCredential(text);
    if (credential === undefined) return undefined;
    const expected = Buffer.from(checksum(credential.body));
    if (!timingSafeEqual(expected, Buffer.from(credential.checksum))) return earlier?.verify(text);
    const { kind, subject } = credential;
    return {
      subject,
      partition: partitionOf[kind](subject),
      payer: { kind: kind === "ik" ? "key" : "session", digest: digestOf(text) },
    };
  }

  return {
    issue(kind, subject) {
      const body = credentialBody(kind, subject, random.bytes(SECRET_BYTES));
      const text = body + checksum(body);
      return { text, digest: digestOf(text), label: credentialLabel(text) };
    },
    verify(text) {
      // Only the checksum is cached. Whether the credential is still valid, its partition says.
      const known = verified.get(text);
      if (known !== undefined) return known;
      const credential = check(text);
      if (credential !== undefined) verified.set(text, credential);
      return credential;
    },
    ofPayments(subject) {
      const secret = hmac("payments:", subject);
      const body = credentialBody("ik", subject, secret);
      const text = body + checksum(body);
      const payer = { kind: "key" as const, digest: digestOf(text) };
      const keyId = `key_${encodeBase32(secret.subarray(SECRET_BYTES, SECRET_BYTES + 10))}`;
      return {
        credential: { subject, partition: accountPartition(subject), payer },
        label: credentialLabel(text),
        keyId,
      };
    },
    pseudonym(partition) {
      const known = pseudonyms.get(partition);
      if (known !== undefined) return known;
      const made = encodeBase32(hmac("pseudonym:", partition).subarray(0, 15));
      pseudonyms.set(partition, made);
      return made;
    },
  };
}

const partitionOf: Record<CredentialKind, (subject: Address) => Partition> = {
  ik: accountPartition,
  is: identityPartition,
  ia: agentPartition,
};

/** Credentials whose checksum is cached. */
const MAX_REMEMBERED = 10_000;

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
