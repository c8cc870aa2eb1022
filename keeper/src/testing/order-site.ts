import { fundDollars } from "@inference/devnet/third-parties/local-chains";
import { standingOrdersAbi } from "@inference/protocol/abi/standing-orders";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { stablecoinUnits } from "@inference/protocol/money";
import { eventually } from "@inference/protocol/testing/eventually";
import { type Address, keccak256, maxUint256 } from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { type Keeper, startKeeper } from "../keeper.ts";
import type { KeeperSettings } from "../settings.ts";
import {
  approve,
  type ChainSite,
  DOLLAR,
  deliver,
  deployer,
  dollarsOf,
  keeper,
  shareThreeChains,
} from "./three-chains.ts";

/** Pulls below 5 dollars of credit, at least 2 dollars. */
export const terms = { below: 5n * DOLLAR, least: 2n * DOLLAR, dailyBudgetWei: 10n ** 18n };

/** A keeper that pulls by standing orders, on three local chains. Its relay has no chain. */
export async function startOrderSite() {
  const chains = await shareThreeChains();
  const given = chains.settings();
  const relay = { host: "127.0.0.1", port: 0, dailyBudgetWei: 1n, key: keccak256("0x01"), secret: "s".repeat(32) };
  const settings: KeeperSettings = { ...given, relay, standingOrders: terms };
  const events: { event: string; task?: string }[] = [];
  let running: Keeper | undefined;
  let aheadMs = 0;
  return { chains, events, start, stop, passed, pass };

  function start(change: Partial<typeof terms> = {}): void {
    running = startKeeper(
      { ...settings, standingOrders: { ...terms, ...change } },
      { now: () => Date.now() + aheadMs, log: (_, event, fields) => void events.push({ event, ...fields }) },
    );
  }
  async function stop(): Promise<void> {
    const last = running;
    running = undefined;
    await last?.stop();
  }
  /** Moves the keeper's clock. */
  function pass(ms: number): void {
    aheadMs += ms;
  }
  /** Returns once a round has passed that has seen everything so far: a new owner's order on the chain is pulled. */
  async function passed(on: ChainSite): Promise<void> {
    const witness = await ownerOn(on, 3n);
    await setOrder(on, witness, { maxPerDay: 3n * DOLLAR });
    await eventually(async () => (await heldBy(on, witness.address)) === 0n);
  }
}

/** An account with dollars, a coin for gas, and an unlimited allowance for the orders. */
export async function ownerOn(site: ChainSite, dollars: bigint, owner = newAccount()): Promise<PrivateKeyAccount> {
  const { client, stablecoin } = site;
  if (dollars > 0n) await fundDollars(site, { issuer: deployer, to: owner.address, dollars });
  await client.setBalance({ address: owner.address, value: 10n ** 18n });
  await approve(site, { token: stablecoin, spender: site.at("standingOrders"), amount: maxUint256 }, owner);
  return owner;
}

export async function setOrder(
  site: ChainSite,
  owner: PrivateKeyAccount,
  { maxPerDay, puller = keeper.address }: { maxPerDay: bigint; puller?: Address },
): Promise<void> {
  const order = { functionName: "set", args: [puller, maxPerDay, 2n ** 40n] } as const;
  await site.sent(await site.client.writeContract({ ...ordersOn(site), account: owner, ...order }));
}

export function ordersOn(site: ChainSite) {
  return { address: site.at("standingOrders"), abi: standingOrdersAbi } as const;
}

/** The dollars of an account, in token units. */
export async function heldBy(site: ChainSite, account: Address): Promise<bigint> {
  return (await dollarsOf(site, account)) / stablecoinUnits(site.stablecoinDecimals);
}

/** Delivers the messages of a chain that the primary one does not have yet, as LayerZero's endpoint does. */
export async function deliverAll(primary: ChainSite, secondary: ChainSite): Promise<void> {
  const bridge = (site: ChainSite) => ({ address: site.at("tokenBridge"), abi: tokenBridgeAbi }) as const;
  const all = { fromBlock: 0n, strict: true } as const;
  const sent = await secondary.client.getContractEvents({ ...bridge(secondary), eventName: "Sent", ...all });
  const had = await primary.client.getContractEvents({ ...bridge(primary), eventName: "Delivered", ...all });
  for (const { args } of sent) {
    if (had.some((each) => each.args.guid === args.guid)) continue;
    await deliver(primary, secondary.eid, args.message, args.guid);
  }
}

function newAccount(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey());
}
