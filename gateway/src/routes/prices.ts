import { fail } from "@inference/protocol/errors";
import type { PriceSnapshot } from "@inference/protocol/model";
import { pricesAnswer } from "@inference/protocol/wire/answers";
import { json, ok } from "../docs/operation.ts";
import { endpoint } from "./endpoint.ts";

export const getPrices = endpoint({
  path: "/api/v1/prices/{snapshot}",
  id: "getPrices",
  group: "Settlement",
  title: "The prices of a snapshot",
  about:
    "A receipt names the snapshot of its prices. The SHA-256 of the answer's bytes begins with the snapshot's id, so " +
    "nobody can change the prices of a receipt later. Prices are kept for as long as receipts are.",
  pathParameters: { snapshot: "`price_snapshot` of a receipt, or `snapshot` in GET /api/v1/status." },
  answers: [ok("The prices by model, sorted by id.", json("PricesAnswer", pricesAnswer))],
  errors: ["not_found", "ledger_unavailable"],
  async handle(context) {
    const id = context.req.param("snapshot") ?? "";
    if (!/^[0-9a-f]{32}$/.test(id)) {
      const message = "A snapshot's id has 32 hexadecimal digits: `price_snapshot` of a receipt.";
      return fail("invalid_request", message, { param: "snapshot" });
    }
    const text = await context.var.gateway.prices.textOf(id);
    if (text === undefined) return fail("not_found", `The prices of snapshot \`${id}\` are not kept here.`);
    const headers = { "content-type": "application/json", "cache-control": "public, max-age=31536000, immutable" };
    return context.body(text, 200, headers);
  },
});

/** The age of a snapshot in whole seconds. */
export function ageS(snapshot: PriceSnapshot, atMs: number): number {
  return Math.max(0, Math.floor((atMs - snapshot.atMs) / 1000));
}
