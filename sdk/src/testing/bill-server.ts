import { createServer } from "node:http";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { type LocalServer, listenLocally } from "@inference/protocol/testing/local-server";
import { decodeFunctionData, encodeFunctionResult, type Hex, numberToHex } from "viem";
import type { Evidence } from "../verify/evidence.ts";

/** A gateway and its node, which tell one bill by HTTP: `/rpc` is the node. */
export type BillServer = LocalServer & {
  /** The paths that were asked, in order. */
  asked: string[];
};

const PAGE = 2;
const MINTER = `0x${"1".repeat(40)}` as const;
const abi = [...inferenceSettlementAbi, ...tokenMinterAbi, ...stablecoinAbi] as const;

export async function startBillServer(evidence: Evidence): Promise<BillServer> {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "", "http://server");
    asked.push(url.pathname);
    let body = "";
    for await (const part of request) body += part;
    const answer = url.pathname === "/rpc" ? rpc(evidence, JSON.parse(body)) : answerOf(evidence, url);
    const isKnown = answer !== undefined;
    response.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" });
    response.end(typeof answer === "string" ? answer : JSON.stringify(answer ?? NOT_FOUND));
  });
  return { ...(await listenLocally(server)), asked };
}

const NOT_FOUND = { error: { message: "There is no such thing.", type: "t", param: null, code: "not_found" } };

function answerOf({ account, contract, said, madeAt }: Evidence, { pathname, searchParams }: URL): unknown {
  const { records, uses, receipts, balance } = said;
  const after = Number(searchParams.get("after") ?? 0);
  switch (pathname) {
    case "/api/v1/contracts": {
      const chain = { name: "one", role: "primary", layerzero_eid: 1, rpc_url: null, start_block: 0 };
      const contracts = { inferenceSettlement: contract.named };
      return { data: { chains: [{ ...chain, chain_id: contract.chainId, contracts }], abis: {} } };
    }
    case "/auth":
      return { token: "session" };
    case "/api/v1/status":
      return { data: { time: madeAt, receipt_retention_days: said.retentionDays } };
    case "/api/v1/credits":
      return { data: balance?.credits };
    case "/api/v1/activity": {
      const isIn = (day: string) => day >= (searchParams.get("from") ?? "") && day <= (searchParams.get("to") ?? "");
      const totals = Object.entries(balance?.totals ?? {}).map(([date, spent]) => ({ date, usage_nano_usd: spent }));
      if (searchParams.has("group_by")) return { data: totals.filter(({ date }) => isIn(date)) };
      return { data: receipts.filter(({ created_at: at }) => isIn(at.slice(0, 10))), next_cursor: null };
    }
    case "/api/v1/statements": {
      const left = records.filter((each) => each.before_nano_usd + each.amount_nano_usd > after);
      const page = left.slice(0, PAGE);
      const end = page.map((each) => each.before_nano_usd + each.amount_nano_usd).at(-1) ?? null;
      const rest = { account, open: null, waiting_for: balance?.waitingFor ?? null };
      return { data: { ...rest, records: page }, next_after: left.length > PAGE ? end : null };
    }
    case "/api/v1/statements/uses": {
      const left = uses.filter((each) => each.ends_at_nano_usd > after);
      const page = left.slice(0, PAGE);
      return { data: page, next_after: left.length > PAGE ? (page.at(-1)?.ends_at_nano_usd ?? null) : null };
    }
    default:
      return said.prices[pathname.replace("/api/v1/prices/", "")] ?? undefined;
  }
}

type Question = { id: number; method: string; params: readonly { data?: Hex }[] };

function rpc(evidence: Evidence, { id, method, params }: Question): unknown {
  const block = { number: numberToHex(evidence.chain?.block ?? 0), transactions: [] };
  const results: Record<string, unknown> = {
    eth_chainId: numberToHex(evidence.contract.chainId),
    eth_getBlockByNumber: { ...block, timestamp: numberToHex(Date.parse(evidence.chain?.at ?? "") / 1_000) },
    ...{ eth_getCode: "0x01", eth_getLogs: [] },
    ...(method === "eth_call" ? { eth_call: call(evidence, params[0]?.data ?? "0x") } : {}),
  };
  return { jsonrpc: "2.0", id, result: results[method] };
}

function call({ chain, books }: Evidence, data: Hex): Hex {
  const { functionName, args } = decodeFunctionData({ abi, data });
  const amounts = { backing: 0n, supply: 0n, credit: 0n, owed: 0n, lines: 0n };
  for (const name of Object.keys(amounts) as (keyof typeof amounts)[]) {
    amounts[name] = BigInt(books?.primary[`${name}NanoUsd`] ?? 0);
  }
  const results: Partial<Record<typeof functionName, unknown>> = {
    accountOf: [chain?.activatedNanoUsd, chain?.debitedNanoUsd, chain?.servedNanoUsd].map((text) => BigInt(text ?? 0)),
    owedBackNanoUsd: BigInt(chain?.owedBackNanoUsd ?? 0),
    receiptKey: chain?.receiptKey,
    blockOf: BigInt(chain?.blocks[String(args?.[0])] ?? 0),
    ...{ MINTER, BRIDGE: MINTER, STABLECOIN: MINTER, SCALE: 1n, books: amounts },
    balanceOf: BigInt(books?.primary.dollarsToken ?? 0),
  };
  return encodeFunctionResult({ abi: abi as never, functionName, result: results[functionName] } as never);
}
