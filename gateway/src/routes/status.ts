import { ceilingPartition } from "@inference/ledger/partition";
import { statusAnswer } from "@inference/protocol/wire/answers";
import manifest from "../../package.json" with { type: "json" };
import { json, ok } from "../docs/operation.ts";
import type { Gateway } from "../gateway.ts";
import { exact, usd } from "../http/money.ts";
import { endpoint } from "./endpoint.ts";
import { ledgerErrors } from "./endpoint-errors.ts";
import { pricesInForce } from "./prices-in-force.ts";

export const getStatus = endpoint({
  method: "GET",
  path: "/api/v1/status",
  id: "getStatus",
  group: "Operation",
  title: "The day's ceiling, the chains, the token's books, the prices in force",
  about:
    "The books are the contracts' own: the dollars behind the token, and what they are owed to. " +
    "While the chain contradicts the gateway's settings or books, no contract is named.",
  credentials: [],
  answers: [ok("How the gateway stands.", json("StatusAnswer", statusAnswer))],
  errors: ledgerErrors,
  async handle(context) {
    const { gateway, at } = context.var;
    const ceiling = await gateway.environment.ledger.read(ceilingPartition, { type: "ceiling", at });
    const limit = ceiling.limitNanoUsd ?? 0;
    const left = ceiling.availableNanoUsd ?? 0;
    return context.json({
      data: {
        version: manifest.version,
        base_url: gateway.config.baseUrl,
        ceiling: {
          limit: usd(limit),
          limit_nano_usd: limit,
          settled: usd(ceiling.settledNanoUsd),
          settled_nano_usd: ceiling.settledNanoUsd,
          held: usd(ceiling.heldNanoUsd),
          held_nano_usd: ceiling.heldNanoUsd,
          left: usd(left),
          left_nano_usd: left,
          resets_at: ceiling.resetsAt === null ? null : new Date(ceiling.resetsAt).toISOString(),
        },
        primary_chain_id: gateway.config.chainIds[0] ?? null,
        chain_ids: gateway.config.chainIds,
        layerzero_eids: Object.fromEntries(
          gateway.config.chains.flatMap(({ chainId, eid }) => (eid === null ? [] : [[chainId, eid]])),
        ),
        contracts: contracts(gateway),
        following: following(gateway),
        books: await books(gateway),
        prices: pricesInForce(gateway, at),
      },
    });
  },
});

/** What anyone can check: that the dollars that are there are those that somebody has a claim to. */
async function books(gateway: Gateway) {
  const read = await gateway.books.read();
  if (read === null) return null;
  const { block, at, backingNanoUsd, supplyNanoUsd, creditNanoUsd, owedNanoUsd, linesNanoUsd } = read;
  return {
    block,
    at: new Date(at).toISOString(),
    backing: exact(backingNanoUsd, 9),
    backing_nano_usd: exact(backingNanoUsd, 0),
    supply: exact(supplyNanoUsd, 9),
    supply_nano_usd: exact(supplyNanoUsd, 0),
    credit: exact(creditNanoUsd, 9),
    credit_nano_usd: exact(creditNanoUsd, 0),
    owed: exact(owedNanoUsd, 9),
    owed_nano_usd: exact(owedNanoUsd, 0),
    lines: exact(linesNanoUsd, 9),
    lines_nano_usd: exact(linesNanoUsd, 0),
    adds_up: backingNanoUsd === supplyNanoUsd + creditNanoUsd + owedNanoUsd + linesNanoUsd,
  };
}

/** None while the chain contradicts the settings or the books: nobody is to pay there until an operator has looked. */
function contracts({ config, environment }: Gateway) {
  if (environment.chain.following().state === "halted") return {};
  return Object.fromEntries(config.chains.map(({ chainId, contracts }) => [chainId, contracts]));
}

/** How far activations have been read from the primary chain. */
function following({ environment }: Gateway) {
  const { state, block, lagBlocks } = environment.chain.following();
  return { state, block, lag_blocks: lagBlocks };
}
