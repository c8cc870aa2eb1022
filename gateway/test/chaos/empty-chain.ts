import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { NanoUsd } from "@inference/protocol/money";
import { toFunctionSelector } from "viem";
import { CHAIN_ID } from "../fund.ts";

/**
 * A node of a chain on which nothing has happened: one final block, no events, totals of 0, and a ceiling. Accounts do
 * nothing before their gateway has read one. It keeps no process alive.
 */
export type EmptyChain = {
  rpcUrl: string;
  setCeiling(ceilingNanoUsd: NanoUsd): void;
  close(): void;
};

type Question = { id: number; method: string; params: readonly [{ data?: string }?] };

export async function startEmptyChain(ceilingNanoUsd: NanoUsd): Promise<EmptyChain> {
  let ceiling = ceilingNanoUsd;
  const answers: Record<string, (params: Question["params"]) => unknown> = {
    eth_chainId: () => hex(CHAIN_ID),
    eth_getBlockByNumber: () => ({ number: hex(0), hash: word(1), timestamp: hex(Math.floor(Date.now() / 1_000)) }),
    eth_getLogs: () => [],
    eth_call: ([call]) => word(call?.data === CEILING ? ceiling : 0),
  };
  async function answerTo(request: IncomingMessage): Promise<string> {
    const { id, method, params } = JSON.parse(await text(request)) as Question;
    const result = answers[method]?.(params);
    const error = { code: -32_601, message: `this chain is empty, and has no ${method}` };
    return JSON.stringify({ jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) });
  }
  const server = createServer((request, response) => {
    void answerTo(request).then((answer) => response.setHeader("content-type", "application/json").end(answer));
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    rpcUrl: `http://127.0.0.1:${port}`,
    setCeiling(to) {
      ceiling = to;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const ceilingView = inferenceSettlementAbi.find(
  (entry) => entry.type === "function" && entry.name === "ceilingNanoUsd",
);
if (ceilingView?.type !== "function") throw new Error("the settlement has no view of its ceiling");
const CEILING = toFunctionSelector(ceilingView);

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}

function word(value: number): string {
  return `0x${value.toString(16).padStart(64, "0")}`;
}
