import type { Status } from "../gateway.ts";

/** A line of the equation. Null: its chain was not read. `chainId` null: it belongs to no single chain. */
export type ReserveLine = { title: string; chainId: number | null; nanoUsd: bigint | null };

/**
 * The reserves as one equation: dollars held, and the claims on them, of all chains.
 *
 * `matches` is the gateway's own verdict (`adds_up`), and false as well if the two totals differ. Null: a chain was not
 * read, or a total is not known.
 */
export type Reserves = {
  held: ReserveLine[];
  claims: ReserveLine[];
  /** Null: a line is not known. */
  heldNanoUsd: bigint | null;
  claimedNanoUsd: bigint | null;
  matches: boolean | null;
};

type Books = NonNullable<Status["books"]>;

/**
 * Adds the books of the primary chain to those of the secondary ones (I1a and I1b in `contracts/README.md`). The lines
 * of the secondary chains are a claim on the primary one and a reserve of theirs, so they cancel. A part of the lines
 * that no listed chain has stays as a claim.
 */
export function reservesOf(books: Books, primary: number | null): Reserves {
  const { chains } = books;
  const isRead = chains.every(({ known }) => known);
  const listed = chains.reduce((sum, { line_nano_usd: line }) => sum + BigInt(line ?? 0), 0n);
  const unlisted = isRead ? BigInt(books.lines_nano_usd) - listed : 0n;
  const held: ReserveLine[] = [
    { title: "Minter contract", chainId: primary, nanoUsd: BigInt(books.backing_nano_usd) },
    ...chains.flatMap((chain) => {
      const { inOutbox, inTransit } = waitingOf(chain);
      return [
        { title: "Outbox contract", chainId: chain.chain_id, nanoUsd: inOutbox },
        ...unlessZero("In transit from", chain.chain_id, inTransit),
      ];
    }),
    // `unlisted` is below zero if a chain's line has grown since the sum of all lines was read.
    ...(unlisted < 0n ? [{ title: "Arrived since the last reading", chainId: primary, nanoUsd: -unlisted }] : []),
  ];
  const claims: ReserveLine[] = [
    { title: "Tokens not activated", chainId: primary, nanoUsd: BigInt(books.supply_nano_usd) },
    ...chains.map(({ chain_id: chainId, supply_nano_usd: supply }) => {
      return { title: "Tokens not activated", chainId, nanoUsd: orNull(supply) };
    }),
    ...chains.flatMap(({ chain_id: id, in_flight_nano_usd: flying }) => unlessZero("Tokens in transit", id, flying)),
    ...chains.flatMap(({ chain_id: id, gifted_nano_usd: gifted }) => unlessZero("Gifted reserve", id, gifted)),
    { title: "Customer credit", chainId: primary, nanoUsd: BigInt(books.credit_nano_usd) },
    { title: "Owed for inference", chainId: primary, nanoUsd: BigInt(books.owed_nano_usd) },
    ...chains.flatMap((chain) => unlessZero("Newer than the reading", chain.chain_id, waitingOf(chain).newer)),
    ...(unlisted > 0n ? [{ title: "Reserved for chains beyond these rows", chainId: null, nanoUsd: unlisted }] : []),
  ];
  const [heldNanoUsd, claimedNanoUsd] = [sumOf(held), sumOf(claims)];
  const isEqual = heldNanoUsd === null || claimedNanoUsd === null ? null : heldNanoUsd === claimedNanoUsd;
  const matches = books.adds_up === false || isEqual === false ? false : (isEqual && books.adds_up) || null;
  return { held, claims, heldNanoUsd, claimedNanoUsd, matches };
}

/**
 * The dollars in a chain's outbox, those on their way from it, and the claims that were made after the chain was read.
 * The primary chain may be read later than this one. It has then booked dollars from the outbox, or dollars of newer
 * tokens.
 */
function waitingOf(chain: Books["chains"][number]) {
  const { outbox_nano_usd: outbox, flushed_nano_usd: sent, booked_nano_usd: booked } = chain;
  if (outbox === null || sent === null || booked === null) return { inOutbox: null, inTransit: null, newer: null };
  const waiting = BigInt(outbox) + BigInt(sent) - BigInt(booked);
  if (waiting < 0n) return { inOutbox: 0n, inTransit: 0n, newer: -waiting };
  const inOutbox = waiting < BigInt(outbox) ? waiting : BigInt(outbox);
  return { inOutbox, inTransit: waiting - inOutbox, newer: 0n };
}

const orNull = (nanoUsd: number | null): bigint | null => (nanoUsd === null ? null : BigInt(nanoUsd));

function unlessZero(title: string, chainId: number, nanoUsd: bigint | number | null): ReserveLine[] {
  return nanoUsd === null || BigInt(nanoUsd) === 0n ? [] : [{ title, chainId, nanoUsd: BigInt(nanoUsd) }];
}

function sumOf(lines: readonly ReserveLine[]): bigint | null {
  return lines.reduce<bigint | null>(
    (sum, { nanoUsd }) => (sum === null || nanoUsd === null ? null : sum + nanoUsd),
    0n,
  );
}
