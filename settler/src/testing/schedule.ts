import fc from "fast-check";
import { lyingMethods } from "./lies.ts";

/** What can happen to a settler, its chain and its node, as values that a seed gives again. */
export type Schedule = { start: Start; operations: readonly Operation[] };

/** When it begins, in ms after 00:00 UTC. */
export type Start = { timeOfDay: number };

export type Operation =
  /** A request of an account ends, which was admitted some time before. */
  | { type: "use"; account: number; amount: number; agoMs: number }
  | { type: "poll"; happenings: readonly Happening[] }
  | ChainEvent
  | { type: "wait"; ms: number }
  /** The process is killed, and another one starts. */
  | { type: "restart" }
  /** The node is behind by so many blocks, until it is told otherwise. */
  | { type: "lag"; blocks: number }
  /** What processes that are gone had sent arrives. */
  | { type: "arrive" };

export type ChainEvent =
  | { type: "mine"; blocks: number; takes: boolean }
  | { type: "reorg"; depth: number; returns: boolean }
  | { type: "drop" }
  | { type: "fee"; gwei: number }
  | { type: "activate"; account: number; amount: number }
  | { type: "ceiling"; dollars: number }
  | { type: "spendNumber" };

export type Happening = Interruption | Lie;

/** The node answers falsely when it is asked this for the n-th time in a poll. At most once in a poll. */
export type Lie = { type: "lie"; method: string; nth: number; how: number };

/** Before or at one of the settler's calls during a poll: to the ledger or to the node, counted together. */
export type Interruption = { at: number } & (
  | ChainEvent
  /** `effect`: whether the call still has one. `late`: that it has it long afterwards. */
  | { type: "die"; effect: "none" | "done" | "late" }
  /** Of a call to the node, the request or the answer is lost. */
  | { type: "lose"; what: "request" | "answer" }
  /** The node has a request twice, and answers the second. */
  | { type: "twice" }
  | { type: "lag"; blocks: number }
);

export const ACCOUNTS = 4;
/** The one that has no credit. */
export const BROKE = 3;
export const FINALITY_DEPTH = 8;

const second = 1_000;
const hour = 3_600 * second;

const chainEvent: fc.Arbitrary<ChainEvent> = fc.oneof(
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
      ...{ type: fc.constant("activate"), account: fc.nat({ max: BROKE - 1 }), amount: fc.integer({ min: 1, max: 9 }) },
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("ceiling"), dollars: fc.constantFrom(1, 2, 5, 50, 50) }) },
  { weight: 1, arbitrary: fc.constant({ type: "spendNumber" }) },
);

const interruption: fc.Arbitrary<Interruption> = fc
  .tuple(
    fc.nat({ max: 32 }),
    fc.oneof(
      { weight: 3, arbitrary: chainEvent },
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

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 3, arbitrary: interruption },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("lie"),
      method: fc.constantFrom(...lyingMethods),
      nth: fc.nat({ max: 3 }),
      how: fc.nat({ max: 99 }),
    }),
  },
);

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant("use"),
      account: fc.oneof(
        { weight: 12, arbitrary: fc.nat({ max: BROKE - 1 }) },
        { weight: 1, arbitrary: fc.constant(BROKE) },
      ),
      amount: fc.integer({ min: 0, max: 900_000_000 }),
      agoMs: fc.constantFrom(0, 0, 30 * second, 600 * second),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({ type: fc.constant("poll"), happenings: fc.array(happening, { maxLength: 3 }) }),
  },
  { weight: 9, arbitrary: chainEvent },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("wait"),
      ms: fc.constantFrom(second, 12 * second, 150 * second, 660 * second, hour, 7 * hour),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: "restart" }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("lag"), blocks: fc.nat({ max: FINALITY_DEPTH }) }) },
  { weight: 2, arbitrary: fc.constant({ type: "arrive" }) },
) as fc.Arbitrary<Operation>;

/** @param most Operations of a schedule. */
export function schedules(most: number): fc.Arbitrary<Schedule> {
  return fc.record({
    start: fc.record({
      timeOfDay: fc.constantFrom(
        ...[12 * hour, 24 * hour - 30 * second, 24 * hour - second],
        ...[5.5 * hour - second, 6 * hour - 30 * second, 6 * hour - second],
      ),
    }),
    operations: fc.array(operation, { minLength: 1, maxLength: most, size: "max" }),
  });
}

/** True but for one in `times`. */
function mostly(times: number): fc.Arbitrary<boolean> {
  return fc.nat({ max: times - 1 }).map((n) => n !== 0);
}
