import type { DatabaseSync } from "node:sqlite";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { fail } from "@inference/protocol/errors";
import { paymentId, topUpId } from "@inference/protocol/top-up";
import { paymentBody, type Relayed, relayed, topUpBody } from "@inference/protocol/wire/top-up";
import { type Address, isAddress } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createBudget } from "../budget.ts";
import { type Log, reasonOf } from "../log.ts";
import { type Service, startLoop } from "../process.ts";
import type { KeeperSettings } from "../settings.ts";
import { acceptPayment, acceptTopUp } from "./accept.ts";
import { openRelayChain, type RelayChain } from "./relay-chain.ts";
import { createSender } from "./sender.ts";
import { startRelayServer } from "./server.ts";
import { createRelayStore, type RelayRow } from "./store.ts";

/** The relay: takes signed payments from the gateway, stores them, and sends them from an account of its own. */
export type Relay = Service & { port: number };

/** Maximum payments that are not over, of all payers and of one. */
const MOST_OPEN = 1_000;
const MOST_OPEN_EACH = 4;
/** The pause between two looks at a chain on which a payment waits. */
const BUSY_MS = 400;
const IDLE_MS = 2_000;

type Options = {
  database: DatabaseSync;
  now(): number;
  log: Log;
  alert(event: string, fields: Record<string, unknown>): void;
};

/** Returns null if the settings have no relay. Rejects if the port is taken. */
export async function startRelay(settings: KeeperSettings, options: Options): Promise<Relay | null> {
  const { relay } = settings;
  if (relay === undefined) return null;
  const { database, now, log, alert } = options;
  const account = privateKeyToAccount(relay.key);
  const [primary] = settings.chains;
  const chains = new Map<number, RelayChain>();
  for (const each of settings.chains) {
    const chain = openRelayChain(each, { account, primary: each === primary ? null : (primary ?? null) });
    if (chain !== null) chains.set(chain.chainId, chain);
  }
  const store = createRelayStore(database, now);
  const { dailyBudgetWei } = relay;
  const budget = createBudget(database, { dailyBudgetWei, now, table: "relay_spent" });
  const senders = [...chains.values()].map((chain) => createSender(chain, { store, budget, now, log, alert }));
  let wake = (): void => {};

  async function take(
    id: string,
    chainId: number,
    owner: string,
    accept: (chain: RelayChain, at: { now: number; head: bigint }) => Promise<RelayRow>,
  ): Promise<Relayed> {
    const chain = chains.get(chainId);
    if (chain === undefined) {
      const ids = [...chains.keys()];
      return fail("invalid_request", `The relay serves the chains ${ids.join(", ")}.`, { param: "chain_id" });
    }
    const known = store.get(id);
    // The same again changes nothing. One that ended unpaid is checked anew.
    if (known !== undefined && known.chain_id !== chainId) {
      fail("payment_refused", "A top-up with this id is on another chain. Sign again with another salt.", {
        param: "salt",
      });
    }
    if (known !== undefined && known.state !== "failed" && known.state !== "expired") return toObject(known);
    if (store.openCount() >= MOST_OPEN || store.openCount(owner) >= MOST_OPEN_EACH) {
      fail("overloaded", "Too many payments are on their way. Try again in a minute.", { retryAfterS: 60 });
    }
    const row = await accept(chain, { now: now(), head: await chain.reader.getBlockNumber({ cacheTime: 0 }) });
    // Another request may have brought the same one meanwhile.
    const meanwhile = store.get(id);
    if (meanwhile !== undefined && meanwhile !== known && !meanwhile.isOver) return toObject(meanwhile);
    store.put(row);
    log("info", "payment", { chain: chain.name, id, state: row.state });
    wake();
    return toObject(row);
  }

  const server = await startRelayServer(
    {
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
        const chain = chains.get(chainId);
        if (chain === undefined || !isAddress(owner))
          return fail("invalid_request", "There is no such chain or owner.");
        const { stablecoin } = await chain.quote();
        const contract = { address: stablecoin.address as Address, abi: stablecoinAbi } as const;
        return {
          nonce: String(await chain.reader.readContract({ ...contract, functionName: "nonces", args: [owner] })),
        };
      },
      topUp(given) {
        const body = topUpBody.parse(given);
        const { owner } = body.top_up;
        return take(topUpId(body.top_up), body.chain_id, owner, (chain, at) => acceptTopUp(chain, body, at));
      },
      payment(given) {
        const body = paymentBody.parse(given);
        const id = paymentId(body.chain_id, body.authorization);
        return take(id, body.chain_id, body.authorization.from, (chain, at) => acceptPayment(chain, body, at));
      },
      async find(id) {
        const row = store.get(id);
        return row === undefined ? fail("not_found", "There is no payment with this id.") : toObject(row);
      },
    },
    { host: relay.host, port: relay.port, secret: relay.secret, log },
  );
  const loop = startLoop(
    async () => {
      const isBusy = await Promise.all(senders.map(({ round }) => round()));
      return isBusy.includes(true) ? BUSY_MS : IDLE_MS;
    },
    (callback) => {
      wake = callback;
    },
  );
  return {
    port: server.port,
    ended: loop.ended,
    async stop() {
      await server.close();
      await loop.stop();
    },
  };
}

function toObject(row: RelayRow): Relayed {
  const { id, kind, chain_id, owner, account, amount_token, fee_token, state, transaction, block, ...rest } = row;
  const { waits_for, reason, expiresAt } = rest;
  const expires_at = new Date(Math.min(expiresAt * 1_000, 8.64e15)).toISOString();
  const told = { id, kind, chain_id, owner, account, amount_token, fee_token, state, transaction, block };
  return relayed.parse({ ...told, waits_for, reason, expires_at });
}
