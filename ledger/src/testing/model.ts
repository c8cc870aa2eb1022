import type { Claim, Command, Commands, OfferName, Refusal } from "../commands.ts";
import { isCeiling, isCeilingShard, type Partition } from "../partition.ts";
import { makeBatchModel } from "./batch-model.ts";
import { makeBlockModel } from "./block-model.ts";
import { makeOfferModel } from "./offer-model.ts";

/**
 * What the ledger should answer, written from its rules and not from its code: plain lists, every sum added up anew. It
 * knows nothing of rows, counters or outboxes.
 */
export type ModelHold = {
  partition: Partition;
  id: string;
  content: string;
  /** In the ceiling the owner, in an agent's identity `SALE` of a hold under its offer. */
  keyId: string | null;
  followers: readonly string[];
  server: OfferName | null;
  at: number;
  leaseUntil: number;
  amount: number;
  state: "open" | "orphaned" | "settled" | "released" | "refused";
  charge: number;
  refusal?: Refusal;
  /** In an owner of blocks: it is covered by the block of its day; it asks for one. In a ceiling: it is one. */
  isCovered?: boolean;
  asks?: boolean;
  isBlock?: boolean;
};
type Key = CommandOf<"createKey"> & {
  account: Partition;
  disabled: boolean;
  revokedAt: number | null;
  /** For its account's first credit; null if there was one. */
  waitsUntil: number | null;
};
type Settled = { partition: Partition; id: string; keyId: string | null; at: number; charge: number };
type CommandOf<T extends keyof Commands> = Commands[T]["command"];
type Window = Refusal["window"];

const HOUR = 3_600_000;
export const SALE = "sale";

export type Model = ReturnType<typeof makeModel>;

export function makeModel() {
  let holds: ModelHold[] = [];
  const settled: Settled[] = [];
  const debits: { account: Partition; id: string; amount: number }[] = [];
  const credits: { account: Partition; id: string; amount: number }[] = [];
  let keys: Key[] = [];
  const spentNonces = new Set<string>();
  /** By the nonce of their message. */
  const termsSet = new Map<string, string>();
  let sessions: { identity: Partition; digest: string; at: number; expiresAt: number; revoked: boolean }[] = [];
  const capacities = new Map<string, number>();
  const uses: CommandOf<"journal">[] = [];
  const batches = makeBatchModel();
  const offers = makeOfferModel();
  /** Who serves a request, of all that were admitted. */
  const servers = new Map<string, OfferName | null>();
  /** Which ceiling admitted them. */
  const ceilings = new Map<string, Partition>();
  const carried: Settled[] = [];
  const claims: { partition: Partition; claim: Claim; by: string }[] = [];
  let ceiling = 0;

  const find = (partition: Partition, id: string) =>
    holds.find((hold) => hold.partition === partition && hold.id === id);
  const blocks = makeBlockModel({ holds: () => holds, add: (hold) => holds.push(hold) });
  const isHeld = ({ state }: ModelHold) => state === "open" || state === "orphaned";
  const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0);

  /** Settled and held in a partition, of one key or of all, in the window that `at` lies in. */
  function spent(partition: Partition, window: Window, at: number, keyId?: string): { settled: number; held: number } {
    const counts = (one: { partition: Partition; keyId: string | null; at: number }) =>
      one.partition === partition &&
      (keyId === undefined || one.keyId === keyId) &&
      windowName(window, one.at) === windowName(window, at);
    return {
      settled: sum(settled.filter(counts).map(({ charge }) => charge)),
      held: sum(holds.filter((hold) => isHeld(hold) && counts(hold)).map(({ amount }) => amount)),
    };
  }

  function shortage(
    budget: Refusal["budget"],
    window: Window,
    limit: number | null,
    amount: number,
    at: number,
    used: { settled: number; held: number },
  ): Refusal | undefined {
    if (limit === null || used.settled + used.held + amount <= limit) return undefined;
    if (amount === 0) return undefined;
    return {
      budget,
      cause: used.settled + amount > limit ? "settled" : "held",
      neededNanoUsd: amount,
      availableNanoUsd: Math.max(0, limit - used.settled - used.held),
      window,
      resetsAt: windowEnds(window, at),
    };
  }

  const of = (list: typeof credits, account: Partition) =>
    sum(list.filter((one) => one.account === account).map(({ amount }) => amount));
  /** What an account may spend in all: foreign debits are taken from it. */
  const credited = (account: Partition) => of(credits, account) - of(debits, account);

  function debit(account: Partition, { id, amountNanoUsd: amount }: CommandOf<"debit">): unknown {
    const known = debits.find((one) => one.account === account && one.id === id);
    if (known !== undefined) return { status: known.amount === amount ? "debited" : "conflict" };
    if (amount > credited(account)) return { status: "too_much" };
    debits.push({ account, id, amount });
    return { status: "debited" };
  }

  function fault(partition: Partition, { at, payer }: CommandOf<"reserve">): string | undefined {
    if (payer.kind === "session") {
      const session = sessions.find(({ identity, digest }) => identity === partition && digest === payer.digest);
      if (session === undefined) return "unknown";
      if (session.revoked) return "revoked";
      return session.expiresAt <= at ? "expired" : undefined;
    }
    const key = keys.find(({ account, digest }) => account === partition && digest === payer.digest);
    if (key === undefined) return "unknown";
    if (key.revokedAt !== null) return "revoked";
    if (key.expiresAt !== null && key.expiresAt <= at) return "expired";
    return key.disabled ? "disabled" : undefined;
  }

  const capacityOf = (partition: Partition, at: number) => capacities.get(`${partition} ${windowName("day", at)}`) ?? 0;

  function offerRefusal(
    partition: Partition,
    { at, amountNanoUsd: amount, offer }: CommandOf<"reserveOffer">,
    clock: number,
  ): Refusal | undefined {
    const capacity = capacityOf(partition, at);
    const current = offers.limit(partition, capacity, at);
    if (current?.hash !== offer || windowName("day", at) !== windowName("day", clock)) {
      const none = { cause: "settled", neededNanoUsd: amount, availableNanoUsd: 0 } as const;
      return { budget: "capacity", ...none, window: "day", resetsAt: windowEnds("day", at) };
    }
    return (
      shortage("capacity", "day", current.limit, amount, at, spent(partition, "day", at, SALE)) ??
      shortage("capacity", "day", capacity, amount, at, spent(partition, "day", at))
    );
  }

  function ownerRefusal(
    partition: Partition,
    command: CommandOf<"reserve">,
    key: Key | undefined,
  ): Refusal | undefined {
    const { at, amountNanoUsd: amount } = command;
    const [budget, window, limit] =
      key === undefined
        ? (["capacity", "day", capacityOf(partition, at)] as const)
        : (["balance", "lifetime", credited(partition)] as const);
    // A request of another day is in flight for an hour at most, and clocks differ by two minutes.
    const near = [at - HOUR, at, at + 120_000].map((time) => windowName(window, time));
    const inFlight = holds.filter(
      (hold) =>
        hold.partition === partition &&
        isHeld(hold) &&
        hold.keyId !== SALE &&
        near.includes(windowName(window, hold.at)),
    );
    if (inFlight.length >= 32) {
      return { budget, cause: "in_flight", neededNanoUsd: amount, availableNanoUsd: 0, window, resetsAt: null };
    }
    const first = shortage(budget, window, limit, amount, at, spent(partition, window, at));
    if (first !== undefined || key === undefined) return first;
    return shortage("key", key.window, key.limitNanoUsd, amount, at, spent(partition, key.window, at, key.keyId));
  }

  /** What a ceiling holds of an owner. */
  const heldOf = (partition: Partition, owner: string) =>
    sum(
      holds
        .filter((hold) => hold.partition === partition && isHeld(hold) && hold.keyId === owner)
        .map((hold) => hold.amount),
    );

  function ceilingRefusal(command: CommandOf<"reserveCeiling">): Refusal | undefined {
    const { owner, at, amountNanoUsd: amount, ownNanoUsd } = command;
    const share = Number(BigInt(ceiling) / 5n);
    const used = spent("ceiling", "day", at);
    const ofShare = { budget: "ceiling", neededNanoUsd: amount, window: "day", resetsAt: null } as const;
    if (amount > share && used.settled < ceiling) {
      return { ...ofShare, cause: "share", availableNanoUsd: Math.min(share, ceiling - used.settled) };
    }
    const own = ownNanoUsd ?? heldOf("ceiling", owner);
    const refusal = shortage("ceiling", "day", ceiling, amount, at, used);
    // What is held of yesterday, or on another clock already of tomorrow, may be the account's, and is not of the day.
    const beside = sum([at - 24 * HOUR, at + 24 * HOUR].map((time) => spent("ceiling", "day", time).held));
    if (refusal?.cause === "held" && own - beside + amount > ceiling - used.settled) {
      return { ...refusal, isOwn: true };
    }
    if (refusal !== undefined) return refusal;
    if (amount === 0 || own + amount <= share) return undefined;
    return { ...ofShare, cause: "share_held", availableNanoUsd: Math.max(0, share - own) };
  }

  function admit(
    partition: Partition,
    command: CommandOf<"reserve" | "reserveCeiling" | "reserveOffer">,
    clock: number,
  ): unknown {
    const { id, at, amountNanoUsd: amount } = command;
    const isOwner = command.type === "reserve";
    const offer = command.type === "reserveOffer" ? command.offer : undefined;
    const wanted = command.type === "reserveCeiling" ? command.wantedNanoUsd : undefined;
    const who = isOwner
      ? [command.payer, command.followers, command.server, command.claim]
      : [command.owner, offer, wanted];
    const content = JSON.stringify([at, amount, command.leaseMs, who]);
    const known = find(partition, id);
    if (known !== undefined) {
      if (known.content !== content) return { status: "conflict" };
      if (known.refusal !== undefined) return { status: "refused", refusal: known.refusal };
      return reserved(known, command);
    }
    if (at > clock + 60_000 || at < clock - 60_000) return { status: "clock_skew" };
    const wrong = command.type === "reserve" ? fault(partition, command) : undefined;
    if (wrong !== undefined) return { status: "unauthenticated", fault: wrong };
    const claim = command.type === "reserve" ? command.claim : undefined;
    const taken = claim === undefined ? undefined : takenBy(partition, claim, at);
    if (taken !== undefined) return taken;
    const key =
      command.type === "reserve"
        ? keys.find(({ account, digest }) => account === partition && digest === command.payer.digest)
        : undefined;
    const refusal = isOwner
      ? ownerRefusal(partition, command, key)
      : command.type === "reserveOffer"
        ? offerRefusal(partition, command, clock)
        : isCeilingShard(partition)
          ? undefined
          : ceilingRefusal(command);
    // What binds by key in an account binds by account in the ceiling.
    const keyId = isOwner ? (key?.keyId ?? null) : offer === undefined ? command.owner : SALE;
    const leaseUntil = at + command.leaseMs;
    const server = isOwner ? (command.server ?? null) : null;
    const inShard = command.type === "reserveCeiling" && isCeilingShard(partition);
    const ofShard = inShard ? grantedByShard(partition, command, clock) : undefined;
    const isCovered = isOwner ? blocks.hasRoom(partition, command, clock) : ofShard !== undefined;
    const granted = ofShard ?? (command.type === "reserveCeiling" && !inShard ? grantedOf(command) : amount);
    const named = isOwner ? command.followers : inShard ? ["ceiling"] : [];
    const followers = named.filter((one) => !isCovered || !isCeiling(one));
    const under = { isCovered, isBlock: granted > amount };
    const terms = { content, keyId, followers, server, at, leaseUntil, amount: granted, ...under };
    const hold: ModelHold = { partition, id, ...terms, state: "open", charge: 0 };
    if (refusal === undefined && isOwner) servers.set(`${partition} ${id}`, server);
    if (refusal === undefined && isOwner) ceilings.set(`${partition} ${id}`, command.followers.find(isCeiling) ?? "");
    if (refusal === undefined) holds.push(hold);
    // An owner forgets whom it refused: nobody else has heard of it.
    else if (command.type === "reserveCeiling") holds.push({ ...hold, state: "refused", refusal });
    if (refusal === undefined && claim !== undefined) claims.push({ partition, claim, by: id });
    // What is free keeps a key that waits for its account's first credit.
    const isFree = refusal === undefined && amount === 0 && credited(partition) === 0;
    if (isFree && key?.waitsUntil != null && key.waitsUntil <= at + 6 * 24 * HOUR) {
      key.waitsUntil = at + 7 * 24 * HOUR;
    }
    return refusal === undefined ? reserved(hold, command) : { status: "refused", refusal };
  }

  /** By the last request under the name, unless that failed or the name was for a time that is over. */
  function takenBy(partition: Partition, claim: Claim, at: number): unknown {
    const last = claims.findLast((other) => other.partition === partition && other.claim.id === claim.id);
    if (last === undefined || last.claim.expiresAt <= at) return undefined;
    const hold = find(partition, last.by);
    if (hold === undefined || hold.state === "released") return undefined;
    const known = isHeld(hold) ? "in_progress" : "completed";
    return { status: "claimed", by: last.by, state: last.claim.fingerprint === claim.fingerprint ? known : "mismatch" };
  }

  /** Of the day's ceiling a small part, never so much that accounts that are idle keep others out. */
  function grantedOf(command: CommandOf<"reserveCeiling">) {
    const { owner, at, amountNanoUsd: amount, wantedNanoUsd: wanted = 0, leastNanoUsd: least = 0 } = command;
    const used = spent("ceiling", "day", at);
    const left = ceiling - used.settled - used.held;
    const percent = (of: number, share: number) => Number((BigInt(of) * BigInt(share)) / 100n);
    if (left < percent(ceiling, isCeilingShard(owner) ? 1 : 10)) return amount;
    const held = (which: (hold: ModelHold) => unknown) =>
      sum(
        holds.filter((hold) => hold.partition === "ceiling" && isHeld(hold) && which(hold)).map((hold) => hold.amount),
      );
    // A shard keeps the shares of its accounts.
    const ofShare = isCeilingShard(owner) ? ceiling : percent(ceiling, 20) - held(({ keyId }) => keyId === owner);
    const ofBlocks = percent(ceiling, 5) - held(({ isBlock }) => isBlock);
    const block = Math.min(wanted, percent(left, 1), ofShare, ofBlocks);
    return block < least ? amount : Math.max(amount, block);
  }

  /** What a shard holds of a request that its block covers; undefined if it covers it not. */
  function grantedByShard(shard: Partition, command: CommandOf<"reserveCeiling">, clock: number): number | undefined {
    const { owner, at, amountNanoUsd: amount, wantedNanoUsd: wanted = 0, leastNanoUsd: least = 0 } = command;
    const room = blocks.room(shard, at, clock) ?? -1;
    const ofShare = Number(BigInt(blocks.limit(shard)) / 5n) - heldOf(shard, owner);
    if (amount > room || amount > ofShare) return undefined;
    const block = Math.min(wanted, ofShare, Math.floor(room / 2));
    return block < least ? amount : Math.max(amount, block);
  }

  function reserved(hold: ModelHold, command: CommandOf<"reserve" | "reserveCeiling" | "reserveOffer">): unknown {
    const { partition, keyId, leaseUntil, amount, followers } = hold;
    const reply = { status: "reserved", keyId: command.type === "reserve" ? keyId : null, leaseUntil };
    if (command.type === "reserve") return hold.isCovered ? { ...reply, isCovered: true } : reply;
    if (command.type === "reserveOffer") return reply;
    const wants = command.wantedNanoUsd !== undefined;
    const held = { ...reply, ...(wants ? { heldNanoUsd: amount } : {}) };
    if (!isCeilingShard(partition)) {
      return wants && isCeilingShard(command.owner) ? { ...held, limitNanoUsd: ceiling } : held;
    }
    if (followers.length === 0) return { ...held, isCovered: true };
    return { ...held, ownNanoUsd: heldOf(partition, command.owner) - (isHeld(hold) ? amount : 0) };
  }

  function end(
    partition: Partition,
    id: string,
    outcome: "settled" | "released",
    { charge, clock }: { charge: number; clock: number },
  ): unknown {
    const hold = find(partition, id);
    if (hold === undefined) return { status: "unknown" };
    if (!isHeld(hold)) {
      const isSame = hold.state === outcome && hold.charge === charge;
      // The usual end of what the ceiling refused: its owner releases it.
      const isRefusedHere = partition === "ceiling" && hold.state === "refused" && outcome === "released";
      return { status: isSame || isRefusedHere ? outcome : "already_resolved" };
    }
    if (charge > hold.amount) return { status: "exceeds_hold" };
    Object.assign(hold, { state: outcome, charge });
    if (outcome === "settled") settled.push({ partition, id, keyId: hold.keyId, at: hold.at, charge });
    if (hold.isCovered) blocks.ended(hold, clock);
    return { status: outcome };
  }

  function createKey(account: Partition, command: CommandOf<"createKey">): unknown {
    const known = keys.find((key) => key.account === account && key.keyId === command.keyId);
    if (known?.nonce === command.nonce && known.digest === command.digest) return { status: "created" };
    const isSpent = spentNonces.has(`${account} ${command.nonce}`);
    if (known !== undefined || isSpent) return { status: "nonce_used" };
    const live = keys.filter((key) => key.account === account && key.revokedAt === null);
    if (live.length >= 100) return { status: "too_many_keys" };
    spentNonces.add(`${account} ${command.nonce}`);
    const waitsUntil = credited(account) === 0 ? command.at + 7 * 24 * HOUR : null;
    keys.push({ ...command, account, disabled: false, revokedAt: null, waitsUntil });
    return { status: "created" };
  }

  function rollKey(account: Partition, { keyId, digest, nonce }: CommandOf<"rollKey">): unknown {
    const key = keys.find((other) => other.account === account && other.keyId === keyId && other.revokedAt === null);
    if (key === undefined) return { status: "unknown" };
    if (key.nonce === nonce && key.digest === digest) return { status: "rolled" };
    if (spentNonces.has(`${account} ${nonce}`)) return { status: "nonce_used" };
    spentNonces.add(`${account} ${nonce}`);
    Object.assign(key, { digest, nonce });
    return { status: "rolled" };
  }

  function setKeyTerms(account: Partition, command: CommandOf<"setKeyTerms">): unknown {
    const { keyId, window, limitNanoUsd, nonce, at } = command;
    const key = keys.find((other) => other.account === account && other.keyId === keyId && other.revokedAt === null);
    if (key === undefined) return { status: "unknown" };
    const terms = JSON.stringify([command.id, keyId, window, limitNanoUsd, String(command.expiresAt)]);
    const earlier = termsSet.get(`${account} ${nonce}`);
    if (earlier !== undefined) return { status: earlier === terms ? "set" : "nonce_used" };
    if (spentNonces.has(`${account} ${nonce}`)) return { status: "nonce_used" };
    if (key.expiresAt !== null && key.expiresAt <= at) return { status: "expired" };
    spentNonces.add(`${account} ${nonce}`);
    termsSet.set(`${account} ${nonce}`, terms);
    Object.assign(key, { window, limitNanoUsd });
    if (command.expiresAt !== undefined) key.expiresAt = command.expiresAt;
    return { status: "set" };
  }

  function updateKey(account: Partition, { keyId, limitNanoUsd: limit, disabled }: CommandOf<"updateKey">): unknown {
    const key = keys.find((other) => other.account === account && other.keyId === keyId && other.revokedAt === null);
    if (key === undefined) return { status: "unknown" };
    if (limit !== undefined && key.limitNanoUsd !== null && limit > key.limitNanoUsd) return { status: "would_raise" };
    if (limit !== undefined) key.limitNanoUsd = limit;
    if (disabled !== undefined) key.disabled = disabled;
    return { status: "updated" };
  }

  function reassign(partition: Partition, id: string): unknown {
    const hold = find(partition, id);
    if (hold === undefined) return { status: "unknown" };
    if (!isHeld(hold)) return { status: "already_resolved" };
    const agent = `identity:agent:${hold.server?.agent}`;
    Object.assign(hold, { server: null, followers: hold.followers.filter((follower) => follower !== agent) });
    servers.set(`${partition} ${id}`, null);
    return { status: "reassigned" };
  }

  function inquire(partition: Partition, { id, at, follower }: CommandOf<"inquire">, clock: number): unknown {
    const block = follower !== undefined && isCeiling(follower) ? blocks.asked(partition, id, clock) : undefined;
    if (block !== undefined) return block;
    const hold = find(partition, id);
    const isOther = follower !== undefined && hold !== undefined && !hold.followers.includes(follower);
    if (isOther) return { state: "released", chargeNanoUsd: 0 };
    if (hold !== undefined) return { state: hold.state, chargeNanoUsd: hold.charge };
    bury(partition, id, at);
    return { state: "released", chargeNanoUsd: 0 };
  }

  /** The id was never held here, and never will be. */
  function bury(partition: Partition, id: string, at: number): void {
    const nobody = { keyId: null, followers: [], server: null };
    const tombstone = { content: "tombstone", ...nobody, at, leaseUntil: at, amount: 0, charge: 0 };
    holds.push({ partition, id, state: "released", ...tombstone });
  }

  function follow(partition: Partition, command: CommandOf<"follow">, clock: number): unknown {
    const { id, chargeNanoUsd: charge, admittedAt } = command;
    const isRelease = charge === null;
    // Its reserve may still be under way: later than this it is refused for its time.
    const mayStillCome = admittedAt !== undefined && clock - admittedAt <= 120_000;
    if (find(partition, id) === undefined && isRelease && mayStillCome) bury(partition, id, admittedAt);
    return end(partition, id, isRelease ? "released" : "settled", { charge: charge ?? 0, clock });
  }

  function forget(partition: Partition, { at, table, ids }: CommandOf<"forget">): unknown {
    const open = holds.filter((hold) => hold.partition === partition && isHeld(hold));
    const isOverHold = (hold: ModelHold) =>
      hold.partition === partition && ids.includes(hold.id) && !isHeld(hold) && hold.at + 48 * HOUR < at;
    const isOverKey = (key: Key) => {
      if (key.account !== partition || !ids.includes(key.keyId)) return false;
      // A credit that comes late is in time until the key has gone.
      const ends = [key.revokedAt, key.expiresAt, credited(partition) > 0 ? null : key.waitsUntil];
      const isOver = ends.some((end) => end !== null && end + 48 * HOUR < at);
      return isOver && !open.some(({ keyId }) => keyId === key.keyId);
    };
    const isOverSession = ({ identity, digest, at: openedAt, expiresAt }: (typeof sessions)[number]) => {
      if (identity !== partition || !ids.includes(digest) || expiresAt + 48 * HOUR >= at) return false;
      const [first, last] = [windowName("day", openedAt - 60_000), windowName("day", expiresAt + 60_000)];
      return !open.some((hold) => windowName("day", hold.at) >= first && windowName("day", hold.at) <= last);
    };
    const count = () => holds.length + keys.length + sessions.length;
    const before = count();
    if (table === "hold") holds = holds.filter((hold) => !isOverHold(hold));
    if (table === "key") keys = keys.filter((key) => !isOverKey(key));
    if (table === "session") sessions = sessions.filter((session) => !isOverSession(session));
    return { forgotten: before - count() };
  }

  /** What it wants is for the owner to say. One request asks at a time, in each 10 s, and for more than it needs. */
  function asks(partition: Partition, id: string, wanted: number, least: number): void {
    const hold = find(partition, id);
    const slot = (at = 0) => Math.floor(at / 10_000);
    const others = holds.filter(
      (other) => other.partition === partition && other.asks && isHeld(other) && slot(other.at) === slot(hold?.at),
    );
    if (hold === undefined || wanted <= hold.amount || others.length > 0) throw new Error(`${id} wants ${wanted}`);
    if (least !== blocks.held(partition, hold.at) + hold.amount) throw new Error(`${id} needs ${least}`);
    hold.asks = true;
  }

  /** The reply that the command should get. */
  function apply(partition: Partition, command: Command, clock: number): unknown {
    switch (command.type) {
      case "reserve":
      case "reserveCeiling":
      case "reserveOffer":
        return admit(partition, command, clock);
      case "reassign":
        return reassign(partition, command.id);
      case "settle":
        return end(partition, command.id, "settled", { charge: command.chargeNanoUsd, clock });
      case "release":
        return end(partition, command.id, "released", { charge: 0, clock });
      case "follow":
        return follow(partition, command, clock);
      case "checkpoint":
      case "orphan": {
        const hold = find(partition, command.id);
        if (hold === undefined) return { status: "unknown" };
        if (!isHeld(hold)) return { status: "already_resolved" };
        if (command.type === "checkpoint") return { status: "written" };
        hold.state = "orphaned";
        return { status: "orphaned" };
      }
      case "inquire":
        return inquire(partition, command, clock);
      case "journal": {
        const known = uses.find(({ id }) => id === command.id);
        if (known === undefined) {
          uses.push(command);
          batches.journalled(partition, command);
        }
        return { status: "journalled" };
      }
      case "addShard":
        return { status: "added" };
      case "credit": {
        const known = credits.find(({ account, id }) => account === partition && id === command.id);
        if (known === undefined) credits.push({ account: partition, id: command.id, amount: command.amountNanoUsd });
        return { status: known === undefined || known.amount === command.amountNanoUsd ? "credited" : "conflict" };
      }
      case "debit":
        return debit(partition, command);
      case "setCeiling":
        ceiling = command.limitNanoUsd;
        return { status: "set" };
      case "setCapacity":
        capacities.set(`${partition} ${windowName("day", command.at)}`, command.limitNanoUsd);
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
        const key = keys.find(({ account, keyId }) => account === partition && keyId === command.keyId);
        if (key !== undefined) key.revokedAt ??= command.at;
        return { status: key === undefined ? "unknown" : "revoked" };
      }
      case "openSession":
        if (!sessions.some(({ identity, digest }) => identity === partition && digest === command.digest)) {
          const { digest, at, expiresAt } = command;
          sessions.push({ identity: partition, digest, at, expiresAt, revoked: false });
        }
        return { status: "opened" };
      case "revokeSession": {
        const session = sessions.find(({ identity, digest }) => identity === partition && digest === command.digest);
        if (session !== undefined) session.revoked = true;
        return { status: session === undefined ? "unknown" : "revoked" };
      }
      case "forget":
        return forget(partition, command);
      case "acknowledge":
        return { status: "acknowledged" };
      case "carry": {
        const { id, at, amountNanoUsd: charge } = command;
        if (clock - at > 48 * HOUR - 60_000) return { status: "late" };
        // Of one that is forgotten, the id may be used again.
        const known = find(partition, id);
        const isSame = known === undefined || (known.at === at && known.charge === charge);
        if (known === undefined) {
          carried.push({ partition, id, keyId: null, at, charge });
          settled.push({ partition, id, keyId: null, at, charge });
          const end = { leaseUntil: at, amount: charge, state: "settled" as const, charge };
          holds.push({ partition, id, content: "carried", keyId: null, followers: [], server: null, at, ...end });
        }
        return { status: isSame ? "carried" : "conflict" };
      }
      default: {
        const reply =
          offers.apply(partition, command) ??
          blocks.apply(partition, command, clock) ??
          batches.apply(partition, command);
        if (reply === undefined) throw new Error(`the model knows no ${command.type}`);
        return reply;
      }
    }
  }

  return {
    ...{ apply, spent, credited, find, ceiling: () => ceiling, keys: () => keys, settled, carried },
    ...{ blocks, asks },
    ...{ servers, ceilings, capacityOf, offerOf: offers.last, saleLimit: offers.limit },
  };
}

/** The day, the month, or the one lifetime that a time lies in, as people write it. */
export function windowName(window: Window, at: number): string {
  return new Date(at).toISOString().slice(0, { day: 10, month: 7, lifetime: 0 }[window]);
}

/** When that window ends: the first midnight that lies in another. */
function windowEnds(window: Window, at: number): number | null {
  if (window === "lifetime") return null;
  let midnight = Date.parse(`${windowName("day", at)}T00:00:00Z`);
  while (windowName(window, midnight) === windowName(window, at)) midnight += 24 * HOUR;
  return midnight;
}
