import type { NanoUsd } from "@inference/protocol/money";
import { MAX_AGENTS_TRIED, MAX_ASKS } from "../rules/limits.ts";
import type { AllowAnswer, Ask, Command, OfferName, Refusal, ReserveReply } from "./commands.ts";
import { sendHeard } from "./hearing.ts";
import { ceilingPartition, type Partition } from "./partition.ts";
import { attempt, type Saga, send } from "./saga.ts";

/**
 * The saga that reserves a request. The payer's partition says what its shared limits have to be asked first, and holds
 * the request once they have allowed enough: nothing else holds anything.
 *
 * An agent's refusal or failure is no reason to refuse the request: the next agent is asked, and without one the
 * protocol serves it.
 */
export type Reservation = Omit<ReserveCommand, "type" | "server" | "answers" | "inPieces"> & {
  /** The payer's partition: an account, or an identity. */
  owner: Partition;
  /** The partition of the chain that credits and debits accounts. */
  chain: Partition;
  /** Whether the ceiling is taken in pieces, which saves calls. Without it, it is exact. */
  inPieces?: boolean | undefined;
  /** The offers that may serve it, in the order in which they are asked. */
  offers?: readonly OfferName[];
};

type ReserveCommand = Extract<Command, { type: "reserve" }>;

export type Admission =
  /** `server` is null if the protocol serves the request. */
  | (Extract<ReserveReply, { status: "reserved" }> & { server: OfferName | null })
  | { status: "refused"; refusal: Refusal }
  | Exclude<ReserveReply, { status: "reserved" | "refused" | "asks" }>;

export function* reserveRequest(reservation: Reservation): Saga<Admission> {
  const { owner, chain, offers = [], inPieces, ...asked } = reservation;
  const { id, at, payer, amountNanoUsd } = asked;
  const [...servers] = payer.kind === "key" ? offers.slice(0, MAX_AGENTS_TRIED) : [];
  const terms = { ...asked, inPieces: inPieces || undefined };
  let answers: AllowAnswer[] = [];
  try {
    for (let asked = 0; asked < MAX_ASKS; asked += 1) {
      // An offer is raised for one request at a time: those that wait too long are served by the protocol.
      const server = asked < MAX_ASKS / 2 ? servers[0] : undefined;
      const reply = yield* sendHeard(chain, owner, { type: "reserve", ...terms, server, answers });
      if (reply.status === "reserved") return { ...reply, server: server ?? null };
      if (reply.status !== "asks") return reply;
      answers = yield* askLimits(reply.asks);
      const refusal = answers.find(({ status }) => status === "refused");
      if (refusal !== undefined && refusal.limit !== ceilingPartition) servers.shift();
    }
  } catch (error) {
    // It is unknown which step took effect. The hold ends, and one that arrives late is refused.
    yield* sendHeard(chain, owner, { type: "release", id, at, lossNanoUsd: 0, detail: null });
    throw error;
  }
  return { status: "refused", refusal: busy(amountNanoUsd) };
}

/**
 * A reserve that runs where its account is, so that its caller waits for one call. The ceiling is asked from there.
 * Offers are not: the caller chooses the next one.
 *
 * @param reserve The command, which was answered with these asks.
 */
export function* askCeiling(
  { owner, chain }: Pick<Reservation, "owner" | "chain">,
  reserve: ReserveCommand,
  asks: readonly Ask[],
): Saga<ReserveReply> {
  if (asks.some(({ limit }) => limit !== ceilingPartition)) return { status: "asks", asks };
  return yield* sendHeard(chain, owner, { ...reserve, answers: yield* askLimits(asks) });
}

/** Asks each limit, up to the first that refuses. An agent that cannot be reached refuses. */
function* askLimits(asks: readonly Ask[]): Saga<AllowAnswer[]> {
  const answers: AllowAnswer[] = [];
  for (const { limit, command } of asks) {
    const { day } = command;
    if (limit === ceilingPartition) answers.push({ limit, day, ...(yield* send(limit, command)) });
    else {
      try {
        answers.push({ limit, day, ...(yield* attempt(limit, command)) });
      } catch {
        // An allowance that it may have given is lowered when it is due.
        answers.push({ ...NO_ANSWER, limit, day });
      }
    }
    if (answers.at(-1)?.status === "refused") break;
  }
  return answers;
}

const NO_ANSWER = {
  status: "refused",
  usedNanoUsd: 0,
  allowedNanoUsd: 0,
  askedAt: 0,
  stays: false,
  refusal: null,
} as const;

/** Other requests of the account ask all the time. */
function busy(neededNanoUsd: NanoUsd): Refusal {
  return { budget: "ceiling", cause: "held", neededNanoUsd, availableNanoUsd: 0, window: "day", resetsAt: null };
}
