import { setTimeout as sleep } from "node:timers/promises";

/**
 * Makes what happens on a chain final soon after. The chain makes a block for a transaction and none otherwise, so that
 * it costs nothing while nothing happens; the empty blocks that finality wants come from here.
 */
export type Finality = {
  /** Resolves when all that has happened is final. */
  reached(): Promise<void>;
  stop(): Promise<void>;
};

/** How far below the latest block the finalized one is: two epochs. */
export const FINALITY_DEPTH = 32;
export const SLOTS_IN_AN_EPOCH = FINALITY_DEPTH / 2;

/** Transactions of one moment become final together. */
const GATHER_MS = 20;
const EMPTY_TRANSACTIONS_ROOT = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

/**
 * `save` is called before anything becomes final: a start from what was saved must find all that was final. Transactions
 * make blocks while that goes on, and so make others final; hence half of the empty blocks are mined, and saved, before:
 * they are the first that become final in this way, and come to more than there are transactions during a save.
 */
export async function keepFinal(options: {
  rpcUrl: string;
  mine(blocks: number): Promise<void>;
  save(): Promise<void>;
  onError(error: unknown): void;
}): Promise<Finality> {
  const { rpcUrl, mine, save, onError } = options;
  let wanted = false;
  let stopped = false;
  let running: Promise<void> | undefined;

  async function work(): Promise<void> {
    while (wanted && !stopped) {
      await sleep(GATHER_MS);
      wanted = false;
      await mine(FINALITY_DEPTH / 2);
      await save();
      await mine(FINALITY_DEPTH / 2);
    }
  }
  function want(): Promise<void> {
    wanted = true;
    running ??= work()
      .catch((error: unknown) => {
        if (!stopped) onError(error);
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  }

  await save();
  await mine(FINALITY_DEPTH);
  const heads = await subscribe(rpcUrl, (transactionsRoot) => {
    if (transactionsRoot !== EMPTY_TRANSACTIONS_ROOT) void want();
  });
  return {
    reached: want,
    async stop() {
      stopped = true;
      heads.close();
      await running;
    },
  };
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
