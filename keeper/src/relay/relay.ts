import type { DatabaseSync } from "node:sqlite";
import { privateKeyToAccount, privateKeyToAddress } from "viem/accounts";
import { createBudget } from "../budget.ts";
import type { Log } from "../log.ts";
import { type Service, startLoop } from "../process.ts";
import type { KeeperSettings } from "../settings.ts";
import { createDesk } from "./desk.ts";
import { openRelayChain, type RelayChain } from "./relay-chain.ts";
import { createSender } from "./sender.ts";
import { startRelayServer } from "./server.ts";
import { createRelayStore } from "./store.ts";

/** The relay: takes signed payments from the gateway, stores them, and sends them from an account of its own. */
export type Relay = Service & { port: number };

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
  const { relay, standingOrders, key } = settings;
  if (relay === undefined) return null;
  const { database, now, log, alert } = options;
  const account = privateKeyToAccount(relay.key);
  const [primary] = settings.chains;
  const order = standingOrders && {
    puller: privateKeyToAddress(key),
    below_token: String(standingOrders.below),
    least_token: String(standingOrders.least),
  };
  const chains = new Map<number, RelayChain>();
  for (const each of settings.chains) {
    const chain = openRelayChain(each, {
      account,
      primary: each === primary ? null : (primary ?? null),
      order: order ?? null,
    });
    if (chain !== null) chains.set(chain.chainId, chain);
  }
  const store = createRelayStore(database, now);
  const { dailyBudgetWei } = relay;
  const budget = createBudget(database, { dailyBudgetWei, now, table: "relay_spent" });
  const senders = [...chains.values()].map((chain) => createSender(chain, { store, budget, now, log, alert }));
  const desk = createDesk({ chains, store, now, log, alert, wake: () => loop.wake() });
  const server = await startRelayServer(desk, {
    ...{ host: relay.host, port: relay.port, secret: relay.secret, log },
  });
  const loop = startLoop(async (signal) => {
    const isBusy = await Promise.all(senders.map(({ round }) => round(signal)));
    return isBusy.includes(true) ? BUSY_MS : IDLE_MS;
  });
  return {
    port: server.port,
    ended: loop.ended,
    async stop() {
      await server.close();
      await loop.stop();
    },
  };
}
