import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { fail } from "@inference/protocol/errors";
import { formatDecimal } from "@inference/protocol/money";
import { paymentId, receiveTypedData, topUpId, topUpTypedData, transferTypedData } from "@inference/protocol/top-up";
import { paymentBody, type Relayed, type RelayQuote, relayed, topUpBody } from "@inference/protocol/wire/top-up";
import { type Address, getAddress, isAddress } from "viem";
import { type Log, reasonOf } from "../log.ts";
import {
  type Acceptable,
  type At,
  checkOnChain,
  IN_THE_DOOR,
  paymentRow,
  refuse,
  topUpRow,
  usedBefore,
} from "./accept.ts";
import type { RelayChain } from "./relay-chain.ts";
import type { RelayRoutes } from "./server.ts";
import { requireSignature } from "./signed.ts";
import type { RelayRow, RelayStore } from "./store.ts";
import { look } from "./works.ts";

/** Maximum payments that wait for a block, of all payers and of one. */
const MOST_PENDING = 1_000;
const MOST_PENDING_EACH = 4;

type Options = {
  chains: ReadonlyMap<number, RelayChain>;
  store: RelayStore;
  now(): number;
  log: Log;
  alert(event: string, fields: Record<string, unknown>): void;
  /** Called after a payment is stored. */
  wake(): void;
};

/** What the relay answers its gateway. A payment is looked up only after the signature is proven to be its payer's. */
export function createDesk({ chains, store, now, log, alert, wake }: Options): RelayRoutes {
  function chainOf(chainId: number): RelayChain {
    const ids = [...chains.keys()].join(", ");
    return chains.get(chainId) ?? fail("invalid_request", `The relay serves the chains ${ids}.`, { param: "chain_id" });
  }

  /** Answers with the stored payment, or checks and stores a new one. */
  async function take(chain: RelayChain, id: string, quote: RelayQuote, open: (at: At) => RelayRow): Promise<RelayRow> {
    const known = store.get(id);
    if (known !== undefined && known.chain_id !== chain.chainId) {
      refuse("A top-up with this id is on another chain. Sign again with another salt.", "salt");
    }
    if (known !== undefined && !hasEndedUnpaid(known)) return known;
    const at = { now: now(), head: await chain.reader.getBlockNumber({ cacheTime: 0 }) };
    const row = open(at);
    const fromBlock = Math.min(row.fromBlock, known?.fromBlock ?? row.fromBlock);
    return admit(chain, quote, await checkOnChain(chain, { ...row, fromBlock }, { at, quote }));
  }

  /** Waits for nothing, so that of two copies, or of two payments of one payer, the second one sees the first. */
  function admit(chain: RelayChain, quote: RelayQuote, { row, balance }: Acceptable): RelayRow {
    const stored = store.get(row.id);
    if (stored !== undefined && !hasEndedUnpaid(stored)) return stored;
    if (row.state === "accepted") {
      const pending = store.pendingOf(row.owner);
      if (store.pendingCount() >= MOST_PENDING || pending.length >= MOST_PENDING_EACH) {
        fail("overloaded", "Too many payments are on their way. Try again in a minute.", { retryAfterS: 60 });
      }
      const others = pending.filter(({ chain_id }) => chain_id === chain.chainId);
      const needed = others.reduce((sum, { value }) => sum + BigInt(value), BigInt(row.value));
      if (row.value !== "0" && needed > balance) {
        if (others.some(({ state }) => state === "sent")) {
          const message = `Other payments of ${row.owner} are in no block yet, and need its dollars. Try again in a few seconds.`;
          fail("overloaded", message, { retryAfterS: 3 });
        }
        const { decimals, name } = quote.stablecoin;
        const [has, needs] = [formatDecimal(balance, decimals), formatDecimal(needed, decimals)];
        refuse(`${row.owner} has ${has} ${name}. With the payments on their way it needs ${needs}.`, null);
      }
    }
    // The first request keeps its payment, also after an end: the signature is public since it was sent.
    const next = stored === undefined ? row : { ...row, fingerprint: stored.fingerprint };
    store.put(next);
    log("info", "payment", { chain: chain.name, id: next.id, state: next.state });
    wake();
    return next;
  }

  /** A payment that ended unpaid may have been made by somebody else since. */
  async function again(row: RelayRow): Promise<RelayRow> {
    const chain = chains.get(row.chain_id);
    if (!hasEndedUnpaid(row) || chain === undefined) return row;
    const head = await chain.reader.getBlockNumber({ cacheTime: 0 });
    const found = await look(chain, row, head);
    const stored = store.get(row.id) ?? row;
    if (!hasEndedUnpaid(stored)) return stored;
    const next = ((): RelayRow => {
      if (found.outcome === "left") return { ...stored, state: "failed", reason: found.reason };
      if (found.outcome === "unknown") return { ...stored, state: "failed", reason: usedBefore(stored) };
      if (found.outcome === "made") {
        const place = { transaction: found.transaction, block: found.block ?? Number(head) };
        return { ...stored, ...place, state: "confirmed", reason: null, isOver: false };
      }
      const isClaim = found.outcome === "wait" || (found.outcome === "due" && found.isClaim);
      return isClaim && stored.reason?.includes(IN_THE_DOOR) !== true
        ? { ...stored, state: "failed", reason: `${IN_THE_DOOR} Send it again to have it claimed.` }
        : stored;
    })();
    if (next !== stored) store.put(next);
    return next;
  }

  return {
    async quotes() {
      const read = [...chains.values()].map((chain) =>
        chain.quote().catch((error: unknown) => {
          alert("unreadable", { chain: chain.name, reason: reasonOf(error) });
          return null;
        }),
      );
      return { chains: (await Promise.all(read)).filter((quote) => quote !== null) };
    },
    async permitNonce(chainId, owner) {
      const chain = chainOf(chainId);
      if (!isAddress(owner, { strict: false })) return fail("invalid_request", "The owner is no address.");
      const { stablecoin } = await chain.quote();
      const contract = { address: stablecoin.address as Address, abi: stablecoinAbi } as const;
      const args = [owner.toLowerCase() as Address] as const;
      return { nonce: String(await chain.reader.readContract({ ...contract, functionName: "nonces", args })) };
    },
    async topUp(given) {
      const body = topUpBody.parse(given);
      const chain = chainOf(body.chain_id);
      const quote = await chain.quote();
      const typedData = quote.method === "permit" ? topUpTypedData : receiveTypedData;
      await requireSignature({ payer: body.top_up.owner, ...body }, typedData(quote, body.top_up));
      return toObject(await take(chain, topUpId(body.top_up), quote, (at) => topUpRow(chain, quote, body, at)));
    },
    async payment(given) {
      const body = paymentBody.parse(given);
      const { authorization, fingerprint } = body;
      const chain = chainOf(body.chain_id);
      const quote = await chain.quote();
      const { pay_to: payTo } =
        quote.x402 ?? refuse("Requests cannot be paid on this chain. See GET /api/v1/top-up.", "network");
      if (getAddress(authorization.to) !== payTo) refuse(`The payment must go to ${payTo}.`, "to");
      await requireSignature({ payer: authorization.from, ...body }, transferTypedData(quote, authorization));
      const id = paymentId(body.chain_id, authorization);
      const row = await take(chain, id, quote, (at) => paymentRow(chain, quote, body, at));
      return { ...toObject(row), serves: row.fingerprint === fingerprint };
    },
    async find(id) {
      return toObject(await again(store.get(id) ?? fail("not_found", "There is no payment with this id.")));
    },
  };
}

function hasEndedUnpaid({ state }: RelayRow): boolean {
  return state === "failed" || state === "expired";
}

function toObject(row: RelayRow): Relayed {
  const { id, kind, chain_id, owner, account, amount_token, fee_token, state, transaction, block, ...rest } = row;
  const { waits_for, reason, expiresAt } = rest;
  const expires_at = new Date(Math.min(expiresAt * 1_000, 8.64e15)).toISOString();
  const told = { id, kind, chain_id, owner, account, amount_token, fee_token, state, transaction, block };
  return relayed.parse({ ...told, waits_for, reason, expires_at });
}
