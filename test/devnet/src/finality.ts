import { setTimeout as sleep } from "node:timers/promises";

/**
 * Makes what happens on a chain final soon after, and lets the time of an idle chain go on. The chain makes a block for
 * a transaction and none otherwise; the empty blocks for finality and for the time come from here.
 */
export type Finality = {
  /** Makes the next block at this time (seconds since the epoch), and makes it final. */
  goTo(timestamp: number): Promise<void>;
  /** Stops it, and saves once more. */
  stop(): Promise<void>;
};

/**
 * How far below the latest block the finalized one is, at least: two epochs of one slot. Each empty block costs
 * a millisecond.
 */
export const LEAST_DEPTH = 2;
/** A chain that survives a kill makes blocks between two saves. No block may become final before it is saved. */
const SAVED_DEPTH = 16;

/** Transactions of one moment become final together, unless they are many. */
const GATHER_MS = 50;
const DAY_MS = 86_400_000;
/** A block's time is in whole seconds. */
const CLOCK_SKEW_MS = 1_000;
const MANY_BLOCKS = SAVED_DEPTH / 4;
/** The idle blocks that may be lost by a sudden end: transactions that follow must not make them final. */
const UNSAVED_IDLE_BLOCKS = SAVED_DEPTH / 4;
/** The time between the blocks of an idle chain: a sixtieth of how long it has been idle, within these bounds. */
const IDLE_BLOCKS = { leastMs: 5_000, mostMs: 30_000 };
const IDLE_SHARE = 60;
const EMPTY_TRANSACTIONS_ROOT = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

export function finalityDepth({ survivesKill }: Pick<FinalityOptions, "survivesKill">): number {
  return survivesKill ? SAVED_DEPTH : LEAST_DEPTH;
}

export type FinalityOptions = {
  rpcUrl: string;
  mine(blocks: number): Promise<void>;
  /** The next block has this time, and later ones follow from it. */
  setNextTimestamp(timestamp: number): Promise<void>;
  /** Whether a transaction makes a block at once. It waits for one while not. */
  setAutomine(isOn: boolean): Promise<void>;
  save(): Promise<void>;
  /** If not, it saves only at first and when it is stopped. */
  survivesKill: boolean;
  onError(error: unknown): void;
  /** The devnet's time, which says when midnight is. The machine's when absent. */
  now?(): number;
  /** In place of the usual bounds. */
  idleBlocks?: { leastMs: number; mostMs: number };
};

/**
 * Blocks are saved before they become final, so that a start after a sudden end finds all final blocks. So the chain is
 * saved before the empty blocks, and after them: later transactions make those final.
 */
export async function keepFinal(options: FinalityOptions): Promise<Finality> {
  const {
    rpcUrl,
    mine,
    setNextTimestamp,
    setAutomine,
    save,
    survivesKill,
    onError,
    now = Date.now,
    idleBlocks = IDLE_BLOCKS,
  } = options;
  let unsaved = 0;
  let unsavedIdle = 0;
  let isTimeDue = false;
  let stopped = false;
  let running: Promise<void> | undefined;
  let crowded = Promise.withResolvers<void>();
  const saveBetween = async (): Promise<void> => {
    if (survivesKill) await save();
  };
  /** A state is told in pieces: a block that came between them would be in one and not in the other. */
  const takeTransactions = async (isOn: boolean): Promise<void> => {
    if (survivesKill) await setAutomine(isOn);
  };

  async function finalize(timestamp?: number): Promise<void> {
    await takeTransactions(false);
    unsaved = 0;
    crowded = Promise.withResolvers();
    if (timestamp !== undefined) {
      await setNextTimestamp(timestamp);
      await mine(1);
    }
    await saveBetween();
    await mine(finalityDepth(options));
    await saveBetween();
    unsavedIdle = 0;
    await takeTransactions(true);
  }
  async function passTime(): Promise<void> {
    isTimeDue = false;
    if (survivesKill && unsavedIdle >= UNSAVED_IDLE_BLOCKS) {
      await setAutomine(false);
      await save();
      unsavedIdle = 0;
      await setAutomine(true);
    }
    unsavedIdle += 1;
    await mine(1);
  }
  async function follow(): Promise<void> {
    while ((unsaved > 0 || isTimeDue) && !stopped) {
      if (unsaved === 0) {
        await passTime();
        continue;
      }
      await Promise.race([sleep(GATHER_MS), crowded.promise]);
      await finalize();
    }
  }
  function work(): void {
    running ??= follow()
      .catch((error: unknown) => {
        if (!stopped) onError(error);
      })
      .finally(() => {
        running = undefined;
      });
  }
  function onHead(transactionsRoot: string): void {
    if (transactionsRoot === EMPTY_TRANSACTIONS_ROOT || stopped) return;
    finalizeSoon();
  }
  function finalizeSoon(): void {
    unsaved += 1;
    if (unsaved >= MANY_BLOCKS) crowded.resolve();
    activeAt = performance.now();
    work();
  }

  /** Programs read the time from the latest block, so it must go on. */
  let activeAt = performance.now();
  function onIdle(): void {
    const idleMs = performance.now() - activeAt;
    const pause = Math.min(Math.max(idleMs / IDLE_SHARE, idleBlocks.leastMs), idleBlocks.mostMs);
    idle = setTimeout(onIdle, pause);
    isTimeDue = true;
    work();
  }

  /** A day's capacity counts only at a block of that day, so a quiet chain makes blocks at midnight. */
  function onMidnight(): void {
    midnight = atNextMidnight(now(), onMidnight);
    finalizeSoon();
  }

  // The timers begin after the first save: two at a time would write the same file.
  await finalize();
  if (!survivesKill) await save();
  let idle = setTimeout(onIdle, idleBlocks.leastMs);
  let midnight = atNextMidnight(now(), onMidnight);
  const heads = await subscribe(rpcUrl, onHead);
  return {
    async goTo(timestamp) {
      while (running !== undefined) await running;
      running = finalize(timestamp).finally(() => {
        running = undefined;
        work();
      });
      await running;
      clearTimeout(midnight);
      midnight = atNextMidnight(now(), onMidnight);
    },
    async stop() {
      stopped = true;
      clearTimeout(midnight);
      clearTimeout(idle);
      heads.close();
      await running;
      await setAutomine(false);
      await save();
    },
  };
}

function atNextMidnight(nowMs: number, callback: () => void): NodeJS.Timeout {
  return setTimeout(callback, DAY_MS - (nowMs % DAY_MS) + CLOCK_SKEW_MS);
}

/** Calls back with the transactions' root of every new block. */
async function subscribe(rpcUrl: string, onHead: (transactionsRoot: string) => void): Promise<WebSocket> {
  const socket = new WebSocket(rpcUrl.replace(/^http/, "ws"));
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", () => reject(new Error(`no subscription at ${rpcUrl}`)), { once: true });
  });
  const answered = Promise.withResolvers<void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, params } = JSON.parse(String(data)) as {
      id?: number;
      params?: { result: { transactionsRoot: string } };
    };
    if (id !== undefined) answered.resolve();
    if (params !== undefined) onHead(params.result.transactionsRoot);
  });
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] }));
  await answered.promise;
  return socket;
}
