import type { LedgerClient } from "@inference/ledger/client";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { lie } from "./lies.ts";
import type { ChainEvent, Happening } from "./schedule.ts";
import type { SimulatedNode } from "./simulated-node.ts";

/** Faults in the calls of one process. The process can die at each call. */
export type Faults = {
  /** The node, and a ledger, as the process reaches them. */
  request(method: string, params: readonly unknown[]): Promise<unknown>;
  ledger(ledger: LedgerClient): LedgerClient;
  /** Runs a poll with these faults during it. False if the process died. */
  during(happenings: readonly Happening[], poll: () => Promise<unknown>): Promise<boolean>;
};

export function makeFaults(options: {
  node: SimulatedNode;
  happen(event: ChainEvent): void;
  /** Takes a request that a dead process had sent and that arrives later. */
  late(effect: () => Promise<unknown>): void;
}): Faults {
  const { node } = options;
  let happenings: readonly Happening[] = [];
  let calls = 0;
  let isDead = false;
  let hasLied = false;
  const asked = new Map<string, number>();
  let died = (): void => {};
  const never = new Promise<never>(() => {});

  async function through<T>(call: { method?: string }, effect: () => Promise<T>): Promise<T> {
    if (isDead) return never;
    const now = happenings.filter((happening) => happening.type !== "lie" && happening.at === calls);
    calls += 1;
    let ask: () => Promise<unknown> = call.method === undefined ? effect : maybeLying(call.method, effect);
    for (const happening of now) {
      if (happening.type === "die") {
        isDead = true;
        if (happening.effect === "done") await effect().catch(() => undefined);
        if (happening.effect === "late") options.late(effect);
        died();
        return never;
      }
      if (happening.type === "lag") node.lag = happening.blocks;
      else if (isOfChain(happening)) options.happen(happening);
      else if (call.method !== undefined) ask = faulty(happening, ask);
    }
    const result = (await ask()) as T;
    return isDead ? never : result;
  }

  function maybeLying(method: string, ask: () => Promise<unknown>): () => Promise<unknown> {
    const nth = asked.get(method) ?? 0;
    asked.set(method, nth + 1);
    const chosen = happenings.find((one) => one.type === "lie" && one.method === method && one.nth === nth);
    if (chosen?.type !== "lie" || hasLied) return ask;
    hasLied = true;
    return () => lie({ method, how: chosen.how }, ask);
  }

  return {
    ledger: (ledger) => ({
      ...ledger,
      run: (saga, how) => through({}, () => ledger.run(saga, how)),
      read: (where, query) => through({}, () => ledger.read(where, query)),
      due: (table, at, page) => through({}, () => ledger.due(table, at, page)),
    }),
    request: (method, params) => through({ method }, () => node.request(method, params)),
    during(what, poll) {
      happenings = what;
      calls = 0;
      hasLied = false;
      asked.clear();
      const end = new Promise<boolean>((resolve) => {
        died = () => resolve(false);
      });
      return Promise.race([end, poll().then(() => true)]);
    },
  };
}

function faulty(happening: Happening, ask: () => Promise<unknown>): () => Promise<unknown> {
  if (happening.type === "twice") return () => ask().then(ask, ask);
  if (happening.type !== "lose") return ask;
  return async () => {
    if (happening.what === "answer") await ask().catch(() => undefined);
    throw new ChainUnavailable("no answer");
  };
}

function isOfChain(happening: Happening): happening is Happening & ChainEvent {
  return !["lose", "twice", "lie", "die", "lag"].includes(happening.type);
}
