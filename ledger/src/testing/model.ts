import type { Window } from "@inference/protocol/window";
import type { Claim, Command, Commands, OfferName, Refusal } from "../messages/commands.ts";
import type { Partition } from "../messages/partition.ts";
import { makeLimitModel } from "./limit-model.ts";

/**
 * What the ledger should answer, written from its rules and not from its code: plain lists, every sum added up anew. It
 * knows nothing of rows, counters or outboxes. What an account is allowed of shared limits is not here: the invariants
 * say what has to hold of it.
 */
export type ModelHold = {
  id: string;
  content: string;
  keyId: string | null;
  server: OfferName | null;
  at: number;
  leaseUntil: number;
  amount: number;
  state: "open" | "orphaned" | "settled" | "released";
  charge: number;
  /** False of a request that was never forwarded. */
  isShown: boolean;
};
type Key = CommandOf<"createKey"> & {
  disabled: boolean;
  revokedAt: number | null;
  /** For its account's first credit; null if there was one. */
  waitsUntil: number | null;
};
type Session = { digest: string; at: number; expiresAt: number; revoked: boolean };
type Offer = CommandOf<"setOffer"> & { isEnded: boolean };
type CommandOf<T extends keyof Commands> = Commands[T]["command"];

/** What one partition has. */
type Book = {
  holds: ModelHold[];
  keys: Key[];
  spentNonces: Set<string>;
  /** By the nonce of their message. */
  termsSet: Map<string, string>;
  sessions: Session[];
  capacities: Map<string, number>;
  claims: { claim: Claim; by: string }[];
  offer: Offer | undefined;
  activated: number;
  heardIn: number;
  /** What was settled by holds that are forgotten. */
  forgotten: ModelHold[];
  isEmptied: boolean;
};

/** A reserve that no budget of its payer refuses: it is held, or its shared limits are asked, and may refuse. */
export const ADMISSIBLE = "admissible";
export const isHeld = ({ state }: Pick<ModelHold, "state">) => state === "open" || state === "orphaned";

const HOUR = 3_600_000;
const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0);

export type Model = ReturnType<typeof makeModel>;

export function makeModel() {
  const books = new Map<Partition, Book>();
  const book = (partition: Partition): Book => {
    const known = books.get(partition) ?? {
      ...{ holds: [], keys: [], spentNonces: new Set<string>(), termsSet: new Map<string, string>(), sessions: [] },
      ...{ capacities: new Map<string, number>(), claims: [], offer: undefined, activated: 0, heardIn: 0 },
      ...{ forgotten: [], isEmptied: false },
    };
    books.set(partition, known);
    return known;
  };
  const find = (partition: Partition, id: string) => book(partition).holds.find((hold) => hold.id === id);
  const isAccount = (partition: Partition) => partition.startsWith("account:");

  const saleLimit = (partition: Partition, at: number): { hash: string; limit: number } | undefined => {
    const { offer } = book(partition);
    if (offer === undefined || offer.isEnded || offer.shareBps === 0) return undefined;
    if (offer.day !== 0 && offer.day !== Math.floor(at / (24 * HOUR))) return undefined;
    return { hash: offer.hash, limit: Number((BigInt(capacityOf(partition, at)) * BigInt(offer.shareBps)) / 10_000n) };
  };
  const capacityOf = (partition: Partition, at: number) => book(partition).capacities.get(windowName("day", at)) ?? 0;
  const limits = makeLimitModel({
    capacityOf,
    saleLimit,
    ownOf: (partition, at) => spent(partition, "day", at),
    isEmptied: (partition) => book(partition).isEmptied,
  });

  /** Settled and held in a partition, of one key or of all, in the window that `at` lies in. */
  function spent(partition: Partition, window: Window, at: number, keyId?: string): { settled: number; held: number } {
    const counts = (one: ModelHold) =>
      (keyId === undefined || one.keyId === keyId) && windowName(window, one.at) === windowName(window, at);
    const { holds, forgotten } = book(partition);
    const counted = [...holds, ...forgotten].filter(counts);
    return {
      settled: sum(counted.map(({ charge }) => charge)),
      held: sum(counted.filter(isHeld).map(({ amount }) => amount)),
    };
  }

  function fault(partition: Partition, { at, payer }: CommandOf<"reserve">): string | undefined {
    const { sessions, keys } = book(partition);
    if (payer.kind === "session") {
      const session = sessions.find(({ digest }) => digest === payer.digest);
      if (session === undefined) return "unknown";
      if (session.revoked) return "revoked";
      return session.expiresAt <= at ? "expired" : undefined;
    }
    const key = keys.find(({ digest }) => digest === payer.digest);
    if (key === undefined) return "unknown";
    if (key.revokedAt !== null) return "revoked";
    if (key.expiresAt !== null && key.expiresAt <= at) return "expired";
    return key.disabled ? "disabled" : undefined;
  }

  function refusalOf(partition: Partition, command: CommandOf<"reserve">, key: Key | undefined): Refusal | undefined {
    const { at, amountNanoUsd: amount } = command;
    const { holds, isEmptied, activated } = book(partition);
    const [budget, window] = key === undefined ? (["capacity", "day"] as const) : (["balance", "lifetime"] as const);
    const none = { budget, neededNanoUsd: amount, availableNanoUsd: 0, window, resetsAt: null };
    if (holds.filter(isHeld).length >= 32) return { ...none, cause: "in_flight" };
    if (key === undefined && isEmptied) return { ...none, cause: "held" };
    const used = spent(partition, window, at);
    if (key === undefined) {
      const sold = limits.spent(partition, at);
      const all = { settled: used.settled + sold.settled, held: used.held + sold.held };
      return shortage("capacity", "day", capacityOf(partition, at), amount, at, all);
    }
    const first = shortage(budget, window, activated, amount, at, used);
    if (first !== undefined) return first;
    return shortage("key", key.window, key.limitNanoUsd, amount, at, spent(partition, key.window, at, key.keyId));
  }

  function reserve(partition: Partition, command: CommandOf<"reserve">, clock: number, epoch: number): unknown {
    const { id, at, claim } = command;
    const known = find(partition, id);
    if (known !== undefined) {
      if (known.content !== contentOf(command)) return { status: "conflict" };
      return { status: "reserved", keyId: known.keyId, leaseUntil: known.leaseUntil };
    }
    if (at > clock + 60_000 || at < clock - 60_000) return { status: "clock_skew" };
    const wrong = fault(partition, command);
    if (wrong !== undefined) return { status: "unauthenticated", fault: wrong };
    const taken = claim === undefined ? undefined : takenBy(partition, claim, at);
    if (taken !== undefined) return taken;
    const deaf = unheard(partition, epoch);
    if (deaf !== undefined) return deaf;
    const refusal = refusalOf(partition, command, keyOf(partition, command));
    return refusal === undefined ? ADMISSIBLE : { status: "refused", refusal };
  }

  function keyOf(partition: Partition, { payer }: CommandOf<"reserve">): Key | undefined {
    return payer.kind === "session" ? undefined : book(partition).keys.find(({ digest }) => digest === payer.digest);
  }

  /** A reserve was held. */
  function admit(partition: Partition, command: CommandOf<"reserve">): void {
    const { id, at, amountNanoUsd: amount, leaseMs, server = null, claim } = command;
    const { holds, claims, activated } = book(partition);
    const key = keyOf(partition, command);
    const keyId = key?.keyId ?? null;
    const terms = { content: contentOf(command), keyId, server, at, leaseUntil: at + leaseMs, amount };
    holds.push({ id, ...terms, state: "open", charge: 0, isShown: true });
    if (claim !== undefined) claims.push({ claim, by: id });
    // What is free keeps a key that waits for its account's first credit.
    const isFree = amount === 0 && activated === 0;
    if (isFree && key?.waitsUntil != null && key.waitsUntil <= at + 6 * 24 * HOUR) key.waitsUntil = at + 7 * 24 * HOUR;
  }

  function unheard(partition: Partition, epoch: number): unknown {
    return isAccount(partition) && book(partition).heardIn !== epoch ? { status: "unheard", epoch } : undefined;
  }

  /** By the last request under the name, unless that failed or the name was for a time that is over. */
  function takenBy(partition: Partition, claim: Claim, at: number): unknown {
    const last = book(partition).claims.findLast((other) => other.claim.id === claim.id);
    if (last === undefined || last.claim.expiresAt <= at) return undefined;
    const hold = find(partition, last.by);
    if (hold === undefined || hold.state === "released") return undefined;
    const known = isHeld(hold) ? "in_progress" : "completed";
    return { status: "claimed", by: last.by, state: last.claim.fingerprint === claim.fingerprint ? known : "mismatch" };
  }

  type End = { state: "settled" | "released"; charge: number; epoch: number };

  function end(partition: Partition, id: string, { state, charge, epoch }: End): unknown {
    const deaf = unheard(partition, epoch);
    if (deaf !== undefined) return deaf;
    const hold = find(partition, id);
    if (hold === undefined) return { status: "unknown" };
    if (!isHeld(hold)) {
      return { status: hold.state === state && hold.charge === charge ? state : "already_resolved" };
    }
    if (charge > hold.amount) return { status: "exceeds_hold" };
    Object.assign(hold, { state, charge });
    return { status: state };
  }

  function release(partition: Partition, { id, at, detail }: CommandOf<"release">, epoch: number): unknown {
    const open = find(partition, id);
    if (open !== undefined && isHeld(open)) open.isShown = detail !== null;
    const reply = end(partition, id, { state: "released", charge: 0, epoch });
    const isHeard = unheard(partition, epoch) === undefined;
    if (isHeard && detail === null && find(partition, id) === undefined) {
      const nobody = { content: "given up", keyId: null, server: null, at, leaseUntil: at, amount: 0, charge: 0 };
      book(partition).holds.push({ id, ...nobody, state: "released", isShown: false });
    }
    return reply;
  }

  function hear(partition: Partition, command: CommandOf<"hear">, epoch: number): unknown {
    const mine = book(partition);
    mine.activated = Math.max(mine.activated, command.activatedNanoUsd);
    if (command.epoch === epoch) mine.heardIn = epoch;
    return { status: command.epoch === null || command.epoch === epoch ? "heard" : "late" };
  }

  function createKey(partition: Partition, command: CommandOf<"createKey">): unknown {
    const { keys, spentNonces, activated } = book(partition);
    const known = keys.find((key) => key.keyId === command.keyId);
    if (known?.nonce === command.nonce && known.digest === command.digest) return { status: "created" };
    if (known !== undefined || spentNonces.has(command.nonce)) return { status: "nonce_used" };
    if (keys.filter((key) => key.revokedAt === null).length >= 100) return { status: "too_many_keys" };
    spentNonces.add(command.nonce);
    const waitsUntil = activated === 0 ? command.at + 7 * 24 * HOUR : null;
    keys.push({ ...command, disabled: false, revokedAt: null, waitsUntil });
    return { status: "created" };
  }

  const liveKey = (partition: Partition, keyId: string) =>
    book(partition).keys.find((other) => other.keyId === keyId && other.revokedAt === null);

  function rollKey(partition: Partition, { keyId, digest, nonce }: CommandOf<"rollKey">): unknown {
    const key = liveKey(partition, keyId);
    const { spentNonces } = book(partition);
    if (key === undefined) return { status: "unknown" };
    if (key.nonce === nonce && key.digest === digest) return { status: "rolled" };
    if (spentNonces.has(nonce)) return { status: "nonce_used" };
    spentNonces.add(nonce);
    Object.assign(key, { digest, nonce });
    return { status: "rolled" };
  }

  function setKeyTerms(partition: Partition, command: CommandOf<"setKeyTerms">): unknown {
    const { keyId, window, limitNanoUsd, nonce, at } = command;
    const key = liveKey(partition, keyId);
    const { spentNonces, termsSet } = book(partition);
    if (key === undefined) return { status: "unknown" };
    const terms = JSON.stringify([command.id, keyId, window, limitNanoUsd, String(command.expiresAt)]);
    const earlier = termsSet.get(nonce);
    if (earlier !== undefined) return { status: earlier === terms ? "set" : "nonce_used" };
    if (spentNonces.has(nonce)) return { status: "nonce_used" };
    if (key.expiresAt !== null && key.expiresAt <= at) return { status: "expired" };
    spentNonces.add(nonce);
    termsSet.set(nonce, terms);
    Object.assign(key, { window, limitNanoUsd });
    if (command.expiresAt !== undefined) key.expiresAt = command.expiresAt;
    return { status: "set" };
  }

  function updateKey(partition: Partition, { keyId, limitNanoUsd: limit, disabled }: CommandOf<"updateKey">): unknown {
    const key = liveKey(partition, keyId);
    if (key === undefined) return { status: "unknown" };
    if (limit !== undefined && key.limitNanoUsd !== null && limit > key.limitNanoUsd) return { status: "would_raise" };
    if (limit !== undefined) key.limitNanoUsd = limit;
    if (disabled !== undefined) key.disabled = disabled;
    return { status: "updated" };
  }

  function setOffer(partition: Partition, command: CommandOf<"setOffer">): unknown {
    const last = book(partition).offer;
    if (last !== undefined && last.hash === command.hash && !last.isEnded) return { status: "set" };
    if (last !== undefined && command.nonce <= last.nonce) return { status: "nonce_used" };
    if (command.nonce > (last === undefined ? 0 : last.nonce) + 1_048_576) return { status: "nonce_too_high" };
    const isOtherDay = command.day !== 0 && command.day !== Math.floor(command.at / (24 * HOUR));
    if (isOtherDay && command.shareBps !== 0) return { status: "wrong_day" };
    book(partition).offer = { ...command, isEnded: false };
    return { status: "set" };
  }

  function endOffer(partition: Partition, { hash }: CommandOf<"endOffer">): unknown {
    const last = book(partition).offer;
    if (last?.hash !== hash) return { status: "unknown" };
    last.isEnded = true;
    return { status: "ended" };
  }

  function forget(partition: Partition, { at, table, ids }: CommandOf<"forget">): unknown {
    const mine = book(partition);
    const open = mine.holds.filter(isHeld);
    // Nothing is final in this world, so that a receipt with a use stays.
    const isOverHold = (hold: ModelHold) =>
      ids.includes(hold.id) &&
      !isHeld(hold) &&
      hold.at + 48 * HOUR < at &&
      (hold.charge === 0 || !isAccount(partition));
    const isOverKey = (key: Key) => {
      // A credit that comes late is in time until the key has gone.
      const ends = [key.revokedAt, key.expiresAt, mine.activated > 0 ? null : key.waitsUntil];
      const isOver = ids.includes(key.keyId) && ends.some((end) => end !== null && end + 48 * HOUR < at);
      return isOver && !open.some(({ keyId }) => keyId === key.keyId);
    };
    const isOverSession = ({ digest, expiresAt }: Session) => ids.includes(digest) && expiresAt + 48 * HOUR < at;
    const count = () => mine.holds.length + mine.keys.length + mine.sessions.length;
    const before = count();
    if (table === "receipt") {
      mine.forgotten.push(...mine.holds.filter(isOverHold));
      mine.holds = mine.holds.filter((hold) => !isOverHold(hold));
    }
    if (table === "key") mine.keys = mine.keys.filter((key) => !isOverKey(key));
    if (table === "session") mine.sessions = mine.sessions.filter((session) => !isOverSession(session));
    const forgotten = before - count();
    // With its last key an account without credit is gone, and would have to hear again.
    const isGone = table === "key" && forgotten > 0 && mine.activated === 0;
    if (isGone && mine.keys.every((key) => key.revokedAt !== null)) mine.heardIn = 0;
    return { forgotten };
  }

  /** The reply that the command should get; undefined if only the invariants judge it. */
  function apply(partition: Partition, command: Command, { clock, epoch }: { clock: number; epoch: number }): unknown {
    const mine = book(partition);
    switch (command.type) {
      case "reserve":
        return reserve(partition, command, clock, epoch);
      case "settle":
        return end(partition, command.id, { state: "settled", charge: command.chargeNanoUsd, epoch });
      case "release":
        return release(partition, command, epoch);
      case "reassign":
      case "checkpoint":
      case "orphan": {
        const hold = find(partition, command.id);
        if (hold === undefined) return { status: "unknown" };
        if (!isHeld(hold)) return { status: "already_resolved" };
        if (command.type === "checkpoint") return { status: "written" };
        if (command.type === "reassign") hold.server = null;
        else hold.state = "orphaned";
        return { status: command.type === "reassign" ? "reassigned" : "orphaned" };
      }
      case "allow":
        return limits.allow(partition, command, clock);
      case "hear":
        return hear(partition, command, epoch);
      case "setCeiling":
        limits.setCeiling(command.limitNanoUsd);
        return { status: "set" };
      case "setCarry":
        return limits.setCarry(command);
      case "empty":
        limits.empty(partition);
        mine.isEmptied = true;
        return { status: "emptied" };
      case "fill":
        mine.isEmptied = false;
        return { status: "filled" };
      case "setCapacity":
        mine.capacities.set(windowName("day", command.at), command.limitNanoUsd);
        return { status: "set" };
      case "createKey":
        return createKey(partition, command);
      case "updateKey":
        return updateKey(partition, command);
      case "rollKey":
        return rollKey(partition, command);
      case "setKeyTerms":
        return setKeyTerms(partition, command);
      case "revokeKey": {
        const key = mine.keys.find(({ keyId }) => keyId === command.keyId);
        if (key !== undefined) key.revokedAt ??= command.at;
        return { status: key === undefined ? "unknown" : "revoked" };
      }
      case "setOffer":
        return setOffer(partition, command);
      case "endOffer":
        return endOffer(partition, command);
      case "openSession": {
        const { digest, at, expiresAt } = command;
        if (!mine.sessions.some((one) => one.digest === digest)) {
          mine.sessions.push({ digest, at, expiresAt, revoked: false });
        }
        return { status: "opened" };
      }
      case "revokeSession": {
        const session = mine.sessions.find(({ digest }) => digest === command.digest);
        if (session !== undefined) session.revoked = true;
        return { status: session === undefined ? "unknown" : "revoked" };
      }
      case "forget":
        return forget(partition, command);
      default:
        return undefined;
    }
  }

  return {
    ...{ apply, admit, find, spent, capacityOf, saleLimit, limits },
    activated: (partition: Partition) => book(partition).activated,
    holds: (partition: Partition): readonly ModelHold[] => [...book(partition).holds, ...book(partition).forgotten],
    offerOf: (partition: Partition) => book(partition).offer,
    keys: () => [...books].flatMap(([account, { keys }]) => keys.map((key) => ({ account, ...key }))),
    copy: (partition: Partition): Book => structuredClone(book(partition)),
    putBack: (partition: Partition, copy: Book) => void books.set(partition, structuredClone(copy)),
  };
}
export type BookCopy = Book;

function contentOf({ at, amountNanoUsd, leaseMs, payer, server, claim }: CommandOf<"reserve">): string {
  return JSON.stringify([at, amountNanoUsd, leaseMs, payer, server?.offer, claim?.id, claim?.fingerprint]);
}

export function shortage(
  budget: Refusal["budget"],
  window: Window,
  limit: number | null,
  amount: number,
  at: number,
  used: { settled: number; held: number },
): Refusal | undefined {
  if (limit === null || used.settled + used.held + amount <= limit || amount === 0) return undefined;
  return {
    budget,
    cause: used.settled + amount > limit ? "settled" : "held",
    neededNanoUsd: amount,
    availableNanoUsd: Math.max(0, limit - used.settled - used.held),
    window,
    resetsAt: windowEnds(window, at),
  };
}

/** The day, the month, or the one lifetime that a time lies in, as people write it. */
export function windowName(window: Window, at: number): string {
  return new Date(at).toISOString().slice(0, { day: 10, month: 7, lifetime: 0 }[window]);
}

/** When that window ends: the first midnight that lies in another. */
export function windowEnds(window: Window, at: number): number | null {
  if (window === "lifetime") return null;
  let midnight = Date.parse(`${windowName("day", at)}T00:00:00Z`);
  while (windowName(window, midnight) === windowName(window, at)) midnight += 24 * HOUR;
  return midnight;
}
