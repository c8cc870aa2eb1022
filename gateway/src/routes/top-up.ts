import { fail } from "@inference/protocol/errors";
import { topUpAnswer, topUpBody, topUpQuotesAnswer } from "@inference/protocol/wire/top-up";
import { limits } from "../config.ts";
import { json, ok } from "../docs/operation.ts";
import { readSmallBody } from "../http/body.ts";
import { parseJsonBody } from "../http/json/parse-json-body.ts";
import { validate } from "../http/json/validate.ts";
import { requireRelay, withCredit } from "../top-up/relayed.ts";
import { endpoint } from "./endpoint.ts";

const group = "Top-ups";
const path = "/api/v1/top-up";

export const getTopUpQuotes = endpoint({
  path,
  id: "getTopUpQuotes",
  group,
  title: "What a top-up without gas costs",
  about:
    "On each chain where a relay sends signed payments: its fee, the least amount, and who gets the fee, and " +
    "the terms of auto top-ups by a standing order. Empty where the operator runs no relay.",
  answers: [ok("The chains, the primary one first.", json("TopUpQuotes", topUpQuotesAnswer))],
  errors: ["chain_unavailable"],
  async handle(context) {
    const { gateway, at } = context.var;
    return context.json({ data: { chains: (await gateway.relay?.quotes(at)) ?? [] } });
  },
});

export const createTopUp = endpoint({
  method: "POST",
  path,
  id: "createTopUp",
  group,
  title: "A top-up without gas",
  about:
    "Takes dollars by signature: what `GET /api/v1/top-up/message` gave you, signed. Everything that can be checked is " +
    "checked before anything is sent, and the relay can send the dollars nowhere else. The same body again changes " +
    "nothing and answers the state.",
  body: { name: "TopUp", schema: topUpBody },
  answers: [ok("The top-up's state, by its id.", json("TopUpAnswer", topUpAnswer))],
  errors: ["not_found", "payment_refused", "invalid_signature", "chain_unavailable"],
  async handle(context) {
    const { gateway, client } = context.var;
    const body = validate(topUpBody, parseJsonBody(await readSmallBody(context, limits.authBodyBytes)));
    const relay = requireRelay(gateway);
    return context.json({ data: await withCredit(gateway, await relay.topUp(body, client)) });
  },
});

export const getTopUp = endpoint({
  path: `${path}/{id}`,
  id: "getTopUp",
  group,
  title: "The state of a top-up or x402 payment",
  about: "Public: the chain shows the same. It can be looked up for 90 days.",
  pathParameters: { id: "The id that the top-up was answered with." },
  answers: [ok("The state.", json("TopUpAnswer", topUpAnswer))],
  errors: ["not_found", "chain_unavailable", "overloaded"],
  async handle(context) {
    const { gateway, client } = context.var;
    const id = context.req.param("id") ?? "";
    if (!/^0x[0-9a-f]{64}$/.test(id)) {
      fail("invalid_request", "The path needs the id of a payment: 0x and 64 hexadecimal digits.", { param: "id" });
    }
    return context.json({ data: await withCredit(gateway, await requireRelay(gateway).find(id, client)) });
  },
});
