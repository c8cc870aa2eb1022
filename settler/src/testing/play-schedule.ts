import { accountPartition, type Partition } from "@inference/ledger/partition";
import type { PartitionCopy } from "@inference/ledger/testing/memory-host";
import { type Faults, makeFaults } from "./faults.ts";
import { FINALITY_DEPTH, type Job, type Loss, type Operation, type Schedule } from "./schedule.ts";
import { accounts, type Jobs, makeGateway, partition, terms } from "./simulated-gateway.ts";

/** Rounds until everything is settled, once nothing fails any more. */
const MOST_ROUNDS = 200;
const COPIES = 10;

/** A process: its jobs, each of whose calls can be its last. */
type Process = Jobs & { faults: Faults };
type Copy = ReadonlyMap<Partition, PartitionCopy>;

/**
 * The jobs of a gateway under a schedule. After every operation the audit looks at ledger and chain. At the end the
 * chain recovers, and all uses have to be settled.
 */
export async function playSchedule({ start, operations }: Schedule, { isLossy }: { isLossy: boolean }): Promise<void> {
  const gateway = makeGateway(start);
  const { node, host, audit, clock, epochs, happen, use } = gateway;
  const copies: Copy[] = [];
  let late: (() => Promise<unknown>)[] = [];
  let process = startProcess();
  let second = startProcess();
  takeCopy();

  function startProcess(mayBeCopy = false): Process {
    const faults = makeFaults({ node, happen, late: (effect) => late.push(effect) });
    const through = { client: () => ({ request: faults.request }), ledger: faults.ledger };
    return { faults, ...gateway.start(through, { mayBeCopy }) };
  }

  function takeCopy(): void {
    const partitions = [partition, ...accounts.map(accountPartition)];
    copies.unshift(new Map(partitions.map((where) => [where, host.copy(where)])));
    copies.splice(COPIES);
  }

  function putBack(where: Partition, copy: number): void {
    const found = (copies[copy] ?? copies.at(-1))?.get(where);
    if (found === undefined) return;
    host.putBack(where, found);
    epochs.set(where, (epochs.get(where) ?? 1) + 1);
  }

  function lose(loss: Loss): void {
    if (loss.type === "restoreChain") process.watcher.reread();
    else if (loss.type === "restoreAccount") putBack(accountPartition(accounts[loss.account] ?? "0x"), loss.copy);
    else {
      for (const where of [partition, ...accounts.map(accountPartition)]) putBack(where, loss.copy);
      process = startProcess(true);
      second = startProcess();
    }
  }

  async function poll(job: Job, happenings: Parameters<Faults["during"]>[0]): Promise<void> {
    const { faults, ...jobs } = job === "secondSettler" ? second : process;
    const polled = jobs[job === "secondSettler" ? "settler" : job];
    const isAlive = await faults.during(happenings, () => polled.poll());
    if (isAlive && jobs.watcher.status().state !== "halted") return;
    if (job === "secondSettler") second = startProcess();
    else process = startProcess();
  }

  async function operate(operation: Operation): Promise<void> {
    switch (operation.type) {
      case "use":
        return use(accounts[operation.account] ?? "0x", operation.amount);
      case "poll":
        return poll(operation.job, operation.happenings);
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
      case "restoreAccount":
      case "restoreAll":
      case "restoreChain":
        lose(operation);
        return;
      default:
        happen(operation);
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
    happen({ type: "ceiling", cents: 5_000 });
    process = startProcess();
    for (let round = 0; round < MOST_ROUNDS; round++) {
      for (const job of ["watcher", "watcher", "statements", "settler"] as const) await poll(job, []);
      // An account that was restored hears the chain's totals with its next request.
      for (const account of accounts) await use(account, 0);
      audit.look();
      if (process.settler.status().state === "idle" && audit.isDrained()) return;
      happen({ type: "mine", blocks: 1 + (round % FINALITY_DEPTH), takes: true });
      clock.now += terms.intervalMs / 2;
    }
    const { state, reason } = process.settler.status();
    throw new Error(`uses are not settled: the settler is ${state}: ${reason}; ${process.watcher.status().reason}`);
  }

  for (const operation of operations) {
    await operate(operation);
    audit.look();
    takeCopy();
  }
  await getWell();
  audit.close({ isLossy });
}
