import type { Claim, ReserveReply } from "../messages/commands.ts";
import type { Draft } from "../rows/draft.ts";
import type { Rows } from "../rows/tables.ts";

/**
 * Idempotency: a reserve may claim a name, and while the claim lasts no other request with that name is admitted. The
 * state of a claim is the state of its request's hold, so ending a hold does not touch the claim.
 */
export type Claimed = Extract<ReserveReply, { status: "claimed" }>;

/** The request that has claimed the name; undefined if the name is free. */
export function earlierClaim(rows: Rows, claim: Claim, atMs: number): Claimed | undefined {
  const earlier = rows.get("claim", claim.id);
  if (earlier === undefined || earlier.expiresAt <= atMs) return undefined;
  const receipt = rows.get("receipt", earlier.requestId);
  // A request whose hold was released no longer has the name.
  if (receipt === undefined || receipt.state === "released") return undefined;
  const { requestId: by } = earlier;
  if (earlier.fingerprint !== claim.fingerprint) return { status: "claimed", by, state: "mismatch" };
  return { status: "claimed", by, state: receipt.state === "settled" ? "completed" : "in_progress" };
}

export function makeClaim(draft: Draft, requestId: string, { id, fingerprint, expiresAt }: Claim): void {
  draft.put("claim", { id, requestId, fingerprint, expiresAt });
}
