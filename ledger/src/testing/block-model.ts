import type { Command, Commands } from "../commands.ts";
import { isCeiling, isCeilingShard, type Partition } from "../partition.ts";
import type { ModelHold } from "./model.ts";

/**
 * What the ledger should answer of blocks, from the rules: what each covers is added up anew. Their owners are accounts
 * and shards of the ceiling.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];
type Block = {
  owner: Partition;
  by: string;
  at: number;
  amount: number;
  closesAt: number;
  settled: number;
  from: string;
};

const MINUTE = 60_000;
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

export function makeBlockModel({ holds, add }: { holds(): ModelHold[]; add(hold: ModelHold): void }) {
  let blocks: Block[] = [];
  /** What each shard of the ceiling knows of the day's limit. */
  const limits = new Map<Partition, number>();

  const find = (owner: Partition, id: string) => holds().find((hold) => hold.partition === owner && hold.id === id);
  const ofDay = (owner: Partition, at: number) =>
    blocks.find((block) => block.owner === owner && dayOf(block.at) === dayOf(at));
  const drawnBy = (owner: Partition, id: string) => blocks.find((block) => block.owner === owner && block.by === id);
  const isHeld = ({ state }: ModelHold) => state === "open" || state === "orphaned";
  const covered = (owner: Partition, at: number) =>
    holds().filter(
      (hold) => hold.partition === owner && hold.isCovered && isHeld(hold) && dayOf(hold.at) === dayOf(at),
    );
  const held = (owner: Partition, at: number) => covered(owner, at).reduce((sum, { amount }) => sum + amount, 0);

  /** What is left of the block that admits now; undefined without one. */
  function room(owner: Partition, at: number, clock: number): number | undefined {
    const block = ofDay(owner, at);
    if (block === undefined || clock >= block.closesAt) return undefined;
    return block.amount - block.settled - held(owner, at);
  }

  function hasRoom(owner: Partition, command: CommandOf<"reserve">, clock: number): boolean {
    if (command.blocks !== true || !command.followers.some(isCeiling)) return false;
    return command.amountNanoUsd <= (room(owner, command.at, clock) ?? -1);
  }

  function finish(block: Block): void {
    blocks = blocks.filter((other) => other !== block);
    const { owner: partition, by, at, amount, settled: charge, from } = block;
    const nobody = { content: "block", keyId: null, followers: [from], server: null };
    add({ partition, id: `${by}.block`, ...nobody, at, leaseUntil: at, amount, state: "settled", charge });
  }

  function finishIfOver(block: Block | undefined, clock: number): void {
    if (block !== undefined && clock >= block.closesAt && covered(block.owner, block.at).length === 0) finish(block);
  }

  function open(
    owner: Partition,
    { id, amountNanoUsd: amount, limitNanoUsd }: CommandOf<"openBlock">,
    clock: number,
  ): unknown {
    const hold = find(owner, id);
    const before = hold === undefined ? undefined : ofDay(owner, hold.at);
    if (before?.by === id) return { status: "opened" };
    const isInTime = hold !== undefined && isHeld(hold) && clock < hold.at + MINUTE;
    const from = hold?.followers.find(isCeiling);
    if (!isInTime || from === undefined || hold.asks !== true) return { status: "unopened" };
    if ((before?.at ?? 0) > hold.at || (isCeilingShard(owner) && limitNanoUsd === undefined))
      return { status: "unopened" };
    if (held(owner, hold.at) + hold.amount > amount) return { status: "unopened" };
    if (before !== undefined) finish(before);
    const followers = hold.followers.filter((follower) => follower !== from);
    if (limitNanoUsd !== undefined) limits.set(owner, limitNanoUsd);
    Object.assign(hold, { isCovered: true, asks: false, followers });
    blocks.push({ owner, by: id, at: hold.at, amount, closesAt: hold.at + MINUTE, settled: 0, from });
    return { status: "opened" };
  }

  function close(owner: Partition, id: string, clock: number): unknown {
    const block = drawnBy(owner, id);
    if (block === undefined) {
      const hold = find(owner, id);
      if (hold !== undefined && isHeld(hold)) hold.asks = false;
      return { status: "unknown" };
    }
    block.closesAt = Math.min(block.closesAt, clock);
    finishIfOver(block, clock);
    return { status: "closed" };
  }

  return {
    hasRoom,
    held,
    room,
    ofDay,
    limit: (shard: Partition) => limits.get(shard) ?? 0,
    /** A request that a block covers has ended. */
    ended(hold: ModelHold, clock: number): void {
      const block = ofDay(hold.partition, hold.at);
      if (block !== undefined) block.settled += hold.charge;
      finishIfOver(block, clock);
    },
    /** What the ceiling is told that asks for a block; undefined if it is none. */
    asked(owner: Partition, id: string, clock: number): unknown {
      finishIfOver(drawnBy(owner, id), clock);
      const end = find(owner, `${id}.block`);
      if (end !== undefined) return { state: end.state, chargeNanoUsd: end.charge };
      return drawnBy(owner, id) === undefined ? undefined : { state: "open", chargeNanoUsd: 0 };
    },
    /** Undefined: a command of something else. */
    apply(partition: Partition, command: Command, clock: number): unknown {
      if (command.type === "openBlock") return open(partition, command, clock);
      return command.type === "closeBlock" ? close(partition, command.id, clock) : undefined;
    },
  };
}
