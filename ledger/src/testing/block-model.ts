import type { Command, Commands } from "../commands.ts";
import type { Partition } from "../partition.ts";
import type { ModelHold } from "./model.ts";

/** What the ledger should answer of blocks, from the rules: what each covers is added up anew. */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];
type Block = { account: Partition; by: string; at: number; amount: number; closesAt: number; settled: number };

const MINUTE = 60_000;
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

export function makeBlockModel({ holds, add }: { holds(): ModelHold[]; add(hold: ModelHold): void }) {
  let blocks: Block[] = [];

  const find = (account: Partition, id: string) => holds().find((hold) => hold.partition === account && hold.id === id);
  const ofDay = (account: Partition, at: number) =>
    blocks.find((block) => block.account === account && dayOf(block.at) === dayOf(at));
  const drawnBy = (account: Partition, id: string) =>
    blocks.find((block) => block.account === account && block.by === id);
  const isHeld = ({ state }: ModelHold) => state === "open" || state === "orphaned";
  const covered = (account: Partition, at: number) =>
    holds().filter(
      (hold) => hold.partition === account && hold.isCovered && isHeld(hold) && dayOf(hold.at) === dayOf(at),
    );
  const held = (account: Partition, at: number) => covered(account, at).reduce((sum, { amount }) => sum + amount, 0);

  function hasRoom(account: Partition, { at, amountNanoUsd, ...more }: CommandOf<"reserve">, clock: number): boolean {
    const block = ofDay(account, at);
    if (block === undefined || more.blocks !== true || !more.followers.includes("ceiling")) return false;
    return clock < block.closesAt && block.settled + held(account, at) + amountNanoUsd <= block.amount;
  }

  function finish(block: Block): void {
    blocks = blocks.filter((other) => other !== block);
    const { account: partition, by, at, amount, settled: charge } = block;
    const nobody = { content: "block", keyId: null, followers: ["ceiling"], server: null };
    add({ partition, id: `${by}.block`, ...nobody, at, leaseUntil: at, amount, state: "settled", charge });
  }

  function finishIfOver(block: Block | undefined, clock: number): void {
    if (block !== undefined && clock >= block.closesAt && covered(block.account, block.at).length === 0) finish(block);
  }

  function open(account: Partition, { id, amountNanoUsd: amount }: CommandOf<"openBlock">, clock: number): unknown {
    const hold = find(account, id);
    const before = hold === undefined ? undefined : ofDay(account, hold.at);
    if (before?.by === id) return { status: "opened" };
    const isInTime = hold !== undefined && isHeld(hold) && clock < hold.at + MINUTE;
    if (!isInTime || !hold.followers.includes("ceiling")) return { status: "unopened" };
    if (held(account, hold.at) + hold.amount > amount) return { status: "unopened" };
    if (before !== undefined) finish(before);
    const followers = hold.followers.filter((follower) => follower !== "ceiling");
    Object.assign(hold, { isCovered: true, asks: false, followers });
    blocks.push({ account, by: id, at: hold.at, amount, closesAt: hold.at + MINUTE, settled: 0 });
    return { status: "opened" };
  }

  function close(account: Partition, id: string, clock: number): unknown {
    const block = drawnBy(account, id);
    if (block === undefined) return { status: "unknown" };
    block.closesAt = Math.min(block.closesAt, clock);
    finishIfOver(block, clock);
    return { status: "closed" };
  }

  return {
    hasRoom,
    ofDay,
    /** A request that a block covers has ended. */
    ended(hold: ModelHold, clock: number): void {
      const block = ofDay(hold.partition, hold.at);
      if (block !== undefined) block.settled += hold.charge;
      finishIfOver(block, clock);
    },
    /** What the ceiling is told that asks for a block; undefined if it is none. */
    asked(account: Partition, id: string, clock: number): unknown {
      finishIfOver(drawnBy(account, id), clock);
      const end = find(account, `${id}.block`);
      if (end !== undefined) return { state: end.state, chargeNanoUsd: end.charge };
      return drawnBy(account, id) === undefined ? undefined : { state: "open", chargeNanoUsd: 0 };
    },
    /** Undefined: a command of something else. */
    apply(partition: Partition, command: Command, clock: number): unknown {
      if (command.type === "openBlock") return open(partition, command, clock);
      return command.type === "closeBlock" ? close(partition, command.id, clock) : undefined;
    },
  };
}
