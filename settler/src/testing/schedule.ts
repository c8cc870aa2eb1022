import fc from "fast-check";
import { lyingMethods } from "./lies.ts";

/** Events of a gateway's jobs, their chain and their node, as values that a seed repeats. */
export type Schedule = { start: Start; operations: readonly Operation[] };

/** When it begins, in ms after 00:00 UTC. */
export type Start = { timeOfDay: number };

/** The jobs of one process, and the settler of a second process with the same key and ledger. */
export type Job = "watcher" | "statements" | "settler" | "secondSettler";

export type Operation =
  /** A request of an account. */
  | { type: "use"; account: number; amount: number }
  | { type: "poll"; job: Job; happenings: readonly Happening[] }
  | ChainEvent
  | Loss
  | { type: "wait"; ms: number }
  /** The process is killed, and another one starts. */
  | { type: "restart" }
  /** The node is behind by so many blocks, until it is told otherwise. */
  | { type: "lag"; blocks: number }
  /** Requests of dead processes arrive. */
  | { type: "arrive" };

/** A copy is one of those that were made before, counted from the newest. */
export type Loss =
  | { type: "restoreAccount"; account: number; copy: number }
  /** The chain's partition is emptied and read again. */
  | { type: "restoreChain" }
  /** The whole ledger is put back, and a process starts with it. */
  | { type: "restoreAll"; copy: number };

export type ChainEvent =
  | { type: "mine"; blocks: number; takes: boolean }
  | { type: "reorg"; depth: number; returns: boolean }
  | { type: "drop" }
  | { type: "fee"; gwei: number }
  | { type: "activate"; account: number; amount: number }
  | { type: "ceiling"; cents: number }
  /** The settler's key is used elsewhere: for a debit of an account, or of none. */
  | { type: "useKey"; account: number; amount: number };

export type Happening = Interruption | Lie;

/** The node answers falsely when it is asked this for the n-th time in a poll. At most once in a poll. */
export type Lie = { type: "lie"; method: string; nth: number; how: number };

/** Before or at one of a job's calls during a poll: to the ledger or to the node, counted together. */
export type Interruption = { at: number } & (
  | ChainEvent
  /** `effect`: whether the call still has one. `late`: that it has it long afterwards. */
  | { type: "die"; effect: "none" | "done" | "late" }
  /** The request or the answer of a call to the node is lost. */
  | { type: "lose"; what: "request" | "answer" }
  /** The node has a request twice, and answers the second. */
  | { type: "twice" }
  | { type: "lag"; blocks: number }
);

export const ACCOUNTS = 4;
export const FINALITY_DEPTH = 8;

const second = 1_000;
const hour = 3_600 * second;

const anAccount = fc.nat({ max: ACCOUNTS - 1 });

function chainEvents(hasForeign: boolean): fc.Arbitrary<ChainEvent> {
  return fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ type: fc.constant("mine"), blocks: fc.integer({ min: 1, max: 10 }), takes: mostly(5) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        ...{ type: fc.constant("reorg"), depth: fc.integer({ min: 1, max: FINALITY_DEPTH }), returns: fc.boolean() },
      }),
    },
    { weight: 1, arbitrary: fc.constant({ type: "drop" }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("fee"), gwei: fc.constantFrom(1, 1, 3, 20, 150, 600) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        ...{ type: fc.constant("activate"), account: anAccount, amount: fc.integer({ min: 1, max: 9 }) },
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constant("ceiling"), cents: fc.constantFrom(0, 50, 200, 500, 5_000, 5_000) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        ...{ type: fc.constant("useKey"), account: anAccount },
        amount: hasForeign ? fc.nat({ max: 300_000_000 }) : fc.constant(0),
      }),
    },
  ) as fc.Arbitrary<ChainEvent>;
}

function interruptions(hasForeign: boolean): fc.Arbitrary<Interruption> {
  return fc
    .tuple(
      fc.nat({ max: 32 }),
      fc.oneof(
        { weight: 3, arbitrary: chainEvents(hasForeign) },
        {
          weight: 4,
          arbitrary: fc.record({
            type: fc.constant("die"),
            effect: fc.constantFrom<"none" | "done" | "late">("none", "done", "late"),
          }),
        },
        {
          weight: 3,
          arbitrary: fc.record({
            type: fc.constant("lose"),
            what: fc.constantFrom<"request" | "answer">("request", "answer"),
          }),
        },
        { weight: 1, arbitrary: fc.constant({ type: "twice" }) },
        { weight: 1, arbitrary: fc.record({ type: fc.constant("lag"), blocks: fc.nat({ max: FINALITY_DEPTH }) }) },
      ),
    )
    .map(([at, what]) => ({ at, ...what }) as Interruption);
}

const aLie = fc.record({
  type: fc.constant("lie" as const),
  method: fc.constantFrom(...lyingMethods),
  nth: fc.nat({ max: 3 }),
  how: fc.nat({ max: 99 }),
});

const losses: fc.Arbitrary<Loss> = fc.oneof(
  fc.record({ type: fc.constant("restoreAccount" as const), account: anAccount, copy: fc.nat({ max: 9 }) }),
  fc.record({ type: fc.constant("restoreAll" as const), copy: fc.nat({ max: 9 }) }),
);

/** @param isLossy Whether accounts are restored, and the settler's key debits accounts elsewhere. */
function operations(isLossy: boolean): fc.Arbitrary<Operation> {
  const happening: fc.Arbitrary<Happening> = fc.oneof(
    { weight: 3, arbitrary: interruptions(isLossy) },
    { weight: 1, arbitrary: aLie },
  );
  return fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        ...{ type: fc.constant("use"), account: anAccount, amount: fc.nat({ max: 900_000_000 }) },
      }),
    },
    {
      weight: 14,
      arbitrary: fc.record({
        type: fc.constant("poll"),
        job: fc.constantFrom<Job>(
          "watcher",
          "watcher",
          "statements",
          "statements",
          "settler",
          "settler",
          "secondSettler",
        ),
        happenings: fc.array(happening, { maxLength: 3 }),
      }),
    },
    { weight: 9, arbitrary: chainEvents(isLossy) },
    {
      weight: 4,
      arbitrary: fc.record({
        type: fc.constant("wait"),
        ms: fc.constantFrom(second, 12 * second, 150 * second, 660 * second, hour, 7 * hour),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ type: "restart" }) },
    { weight: 1, arbitrary: fc.constant({ type: "restoreChain" }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("lag"), blocks: fc.nat({ max: FINALITY_DEPTH }) }) },
    { weight: 2, arbitrary: fc.constant({ type: "arrive" }) },
    ...(isLossy ? [{ weight: 2, arbitrary: losses as fc.Arbitrary<Operation> }] : []),
  ) as fc.Arbitrary<Operation>;
}

export function schedules(options: { most: number; isLossy: boolean }): fc.Arbitrary<Schedule> {
  return fc.record({
    start: fc.record({
      timeOfDay: fc.constantFrom(
        ...[12 * hour, 24 * hour - 30 * second, 24 * hour - second],
        ...[5.75 * hour - second, 6 * hour - 30 * second, 6 * hour - second],
      ),
    }),
    operations: fc.array(operations(options.isLossy), { minLength: 1, maxLength: options.most, size: "max" }),
  });
}

/** True but for one in `times`. */
function mostly(times: number): fc.Arbitrary<boolean> {
  return fc.nat({ max: times - 1 }).map((n) => n !== 0);
}
