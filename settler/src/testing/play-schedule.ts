import type { ChainClient } from "@inference/chain/rpc";
import type { LedgerClient } from "@inference/ledger/client";
import { ceilingPartition, ceilingShard, journalPartition, journalUnder } from "@inference/ledger/partition";
import { openMemoryHost } from "@inference/ledger/testing/memory-host";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createSettler, type Settler, type SettlerOptions } from "../settler.ts";
import { createAudit } from "./audit.ts";
import { lie, methodOf } from "./lies.ts";
import {
  ACCOUNTS,
  BROKE,
  type ChainEvent,
  FINALITY_DEPTH,
  type Happening,
  type Operation,
  type Schedule,
} from "./schedule.ts";
import { createSimulatedChain, type SimulatedChain } from "./simulated-chain.ts";
import { createSimulatedNode } from "./simulated-node.ts";

/**
 * A settler under a schedule, on a simulated chain and with the ledger in memory. After every operation the audit looks
 * at books and chain. At the end the chain gets well, and what was used has to be settled.
 */
export type OpenSettler = (options: SettlerOptions) => Settler;

const privateKey: Hex = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";
const settler = privateKeyToAccount(privateKey).address.toLowerCase() as Address;
const contract: Address = "0x00000000000000000000000000000000005e7713";
const chainId = 31337;
const accounts = Array.from({ length: ACCOUNTS }, (_, at): Address => `0x${String(at + 1).repeat(40)}`);
const FIRST_DAY = 20_000 * DAY_MS;
const FIRST_CREDIT_TOKEN = 10_000_000n;
const BLOCK_MS = 12_000;
/** Polls until everything is settled, once nothing fails any more. */
const MOST_POLLS = 150;
const limits = { maxUses: 4, maxEntries: 2, maxServes: 1, intervalMs: 600_000, stuckAfterMs: 120_000 };

/** @param shards How many shards the ceiling has. */
export async function playSchedule(
  { start, operations }: Schedule,
  open: OpenSettler = createSettler,
  shards = 1,
): Promise<void> {
  const clock = { now: FIRST_DAY + start.timeOfDay };
  const chain = createSimulatedChain({
    ...{ settlement: contract, settler, chainId, finalityDepth: FINALITY_DEPTH, time: seconds(clock.now - 600_000) },
  });
  const node = createSimulatedNode(chain);
  const host = openMemoryHost({ now: () => clock.now });
  const audit = createAudit({ chain, host, chainId, broke: accounts[BROKE] ?? "0x" });
  const spent = new Map<string, bigint>();
  let late: (() => Promise<unknown>)[] = [];
  let uses = 0;
  let process = startProcess();

  for (const account of accounts.slice(0, BROKE)) chain.activate(account, FIRST_CREDIT_TOKEN);
  happen({ type: "mine", blocks: FINALITY_DEPTH + 1, takes: true });
  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 50_000_000_000 });

  /** A settler whose every call can be its last. */
  function startProcess() {
    let happenings: readonly Happening[] = [];
    let calls = 0;
    let isDead = false;
    let hasLied = false;
    const asked = new Map<string, number>();
    let died = (): void => {};
    const never = new Promise<never>(() => {});

    async function through<T>(
      call: { method?: string; params?: readonly unknown[] },
      effect: () => Promise<T>,
    ): Promise<T> {
      if (isDead) return never;
      const now = happenings.filter((happening) => happening.type !== "lie" && happening.at === calls);
      calls += 1;
      let ask: () => Promise<unknown> =
        call.method === undefined ? effect : maybeLying(call.method, call.params, effect);
      for (const happening of now) {
        if (happening.type === "die") {
          isDead = true;
          if (happening.effect === "done") await effect().catch(() => undefined);
          if (happening.effect === "late") late.push(effect);
          died();
          return never;
        }
        if (happening.type === "lag") node.lag = happening.blocks;
        else if (isOfChain(happening)) happen(happening);
        else if (call.method !== undefined) ask = faulty(happening, ask);
      }
      const result = (await ask()) as T;
      return isDead ? never : result;
    }

    function maybeLying(method: string, params: readonly unknown[] = [], ask: () => Promise<unknown>) {
      const name = methodOf(method, params);
      const nth = asked.get(name) ?? 0;
      asked.set(name, nth + 1);
      const chosen = happenings.find((one) => one.type === "lie" && one.method === name && one.nth === nth);
      if (chosen?.type !== "lie" || hasLied) return ask;
      hasLied = true;
      return () => lie(chain, { method, params, how: chosen.how }, ask);
    }

    function faulty(happening: Happening, ask: () => Promise<unknown>): () => Promise<unknown> {
      if (happening.type === "twice") return () => ask().then(ask, ask);
      if (happening.type !== "lose") return ask;
      return async () => {
        if (happening.what === "answer") await ask().catch(() => undefined);
        throw new ChainUnavailable("no answer");
      };
    }

    const client: ChainClient = {
      request: (method, params) => through({ method, params }, () => node.request(method, params)),
    };
    const ledger: LedgerClient = {
      ...host,
      run: (saga) => through({}, () => audit.watched(() => host.run(saga))),
      read: (partition, query) => through({}, () => host.read(partition, query)),
    };
    const options: SettlerOptions = {
      ...{ client, chainId, settlement: contract, startBlock: 0, privateKey, confirmations: "finalized" },
      ...{ ledger, now: () => clock.now, onAlert: () => undefined, limits },
    };
    const running = open(options);
    return {
      settler: running,
      /** False if it died. */
      poll(what: readonly Happening[]): Promise<boolean> {
        happenings = what;
        calls = 0;
        hasLied = false;
        asked.clear();
        const end = new Promise<boolean>((resolve) => {
          died = () => resolve(false);
        });
        return Promise.race([end, running.poll().then(() => true)]);
      },
    };
  }

  function happen(event: ChainEvent): void {
    switch (event.type) {
      case "mine":
        for (let block = 0; block < event.blocks; block++) {
          clock.now += BLOCK_MS;
          chain.mine({ time: seconds(clock.now), takes: event.takes });
        }
        break;
      case "reorg":
        chain.reorg(event.depth, event);
        break;
      case "drop":
        chain.drop();
        break;
      case "fee":
        chain.baseFee = BigInt(event.gwei) * 1_000_000_000n;
        break;
      case "activate":
        chain.activate(accounts[event.account] ?? "0x", BigInt(event.amount) * 1_000_000n);
        break;
      case "ceiling":
        chain.setCeiling(BigInt(event.dollars) * 1_000_000_000n);
        break;
      case "spendNumber":
        chain.spendNumber();
        break;
    }
  }

  /** As the gateway admits it: within the credit of final blocks. */
  function use({ account: at, amount, agoMs }: Operation & { type: "use" }): void {
    const account = accounts[at] ?? "0x";
    const activated = activatedFinally(chain, account);
    const after = (spent.get(account) ?? 0n) + BigInt(amount);
    if (at !== BROKE && after > activated) return;
    spent.set(account, after);
    const admittedAt = Math.max(clock.now - agoMs, FIRST_DAY + start.timeOfDay);
    uses += 1;
    const id = `req_${String(admittedAt).padStart(20, "0")}${String(uses).padStart(6, "0")}`;
    // Each account has a shard. The journal of the day is told of it with the first use, and sometimes later.
    const ceiling = shards === 1 ? null : ceilingShard(1 + (at % shards));
    host.apply(journalPartition(journalUnder(ceiling, utcDay(admittedAt))), {
      ...{ type: "journal", id, account, chargeNanoUsd: amount, admittedAt, server: "protocol" },
    });
    if (uses % 3 === 0) host.deliverAll();
  }

  async function operate(operation: Operation): Promise<void> {
    switch (operation.type) {
      case "use":
        return use(operation);
      case "poll":
        if (!(await process.poll(operation.happenings)) || process.settler.status().state === "halted") {
          process = startProcess();
        }
        return;
      case "wait":
        clock.now += operation.ms;
        return;
      case "restart":
        process = startProcess();
        return;
      case "lag":
        node.lag = operation.blocks;
        return;
      case "arrive":
        return arrive();
      default:
        return happen(operation);
    }
  }

  async function arrive(): Promise<void> {
    const all = late;
    late = [];
    for (const effect of all) await effect().catch(() => undefined);
  }

  async function getWell(): Promise<void> {
    await arrive();
    node.lag = 0;
    // More than some transactions offer that still wait.
    happen({ type: "fee", gwei: 5 });
    happen({ type: "ceiling", dollars: 50 });
    process = startProcess();
    for (let polls = 0; polls < MOST_POLLS; polls++) {
      host.deliverAll();
      await process.poll([]);
      const { state, reason } = process.settler.status();
      if (state === "halted") throw new Error(`a settler stops where nothing is wrong: ${reason}`);
      audit.look();
      if (state === "idle" && audit.isDrained()) return;
      happen({ type: "mine", blocks: 1 + (polls % FINALITY_DEPTH), takes: true });
      clock.now += limits.intervalMs / 2;
    }
    const { state, reason } = process.settler.status();
    throw new Error(`uses are not settled: the settler is ${state}: ${reason}`);
  }

  for (const operation of operations) {
    await operate(operation);
    audit.look();
  }
  await getWell();
  audit.close();
}

/** In nano-dollars: what is left of it in the last final block, and what was debited until then. */
function activatedFinally({ blocks, finalOf }: SimulatedChain, account: Address): bigint {
  const final = blocks.slice(0, finalOf(blocks.length - 1) + 1);
  const debits = final.flatMap(({ transactions }) =>
    transactions.flatMap(({ batch, isSuccess }) => (isSuccess ? (batch?.debits ?? []) : [])),
  );
  const debited = debits.filter((debit) => debit.account.toLowerCase() === account);
  const credit = final.at(-1)?.state.creditNanoUsd.get(account) ?? 0n;
  return debited.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, credit);
}

function isOfChain(happening: Happening): happening is Happening & ChainEvent {
  return !["lose", "twice", "lie", "die", "lag"].includes(happening.type);
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
