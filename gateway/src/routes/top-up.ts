import { lowerAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import { NANO_USD_PER_TOKEN_UNIT, parseUsd } from "@inference/protocol/money";
import {
  permitTypedData,
  receiveTypedData,
  type TopUpTerms,
  topUpDeadline,
  topUpId,
  topUpTypedData,
} from "@inference/protocol/top-up";
import { address } from "@inference/protocol/wire/fields";
import { topUpAnswer, topUpBody, topUpMessageAnswer, topUpQuotesAnswer } from "@inference/protocol/wire/top-up";
import * as z from "zod";
import { json, ok } from "../docs/operation.ts";
import { readSmall } from "../http/body.ts";
import { validate } from "../http/json/validate.ts";
import { queryOf } from "../http/query.ts";
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
    const body = await readSmall(context, topUpBody);
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

const messageQuery = z.strictObject({
  owner: address.describe("Who pays and signs."),
  amount: z.string().describe("In US dollars, like 5.00, without the fee."),
  chain_id: z.coerce.number().int().optional().describe("Where the dollars are; the primary chain if absent."),
  account: address.optional().describe("Whose balance rises; the owner's if absent."),
});

export const getTopUpMessage = endpoint({
  path: "/api/v1/top-up/message",
  id: "getTopUpMessage",
  group: "Top-ups",
  title: "What to sign for a top-up without gas",
  about:
    "The typed data (EIP-712) for these terms, with the present fee. Check what you sign: `to` or `spender` must be the " +
    "chain's `gaslessTopUp`, and the value amount and fee. Then send `chain_id`, `top_up` and the signatures to " +
    "`POST /api/v1/top-up`. Nothing is stored.",
  query: messageQuery,
  answers: [ok("The typed data.", json("TopUpMessage", topUpMessageAnswer))],
  errors: ["not_found", "chain_unavailable", "overloaded"],
  async handle(context) {
    const { gateway, client, at } = context.var;
    const { owner, amount, chain_id: chainId, account = owner } = validate(messageQuery, queryOf(context));
    const relay = requireRelay(gateway);
    const quotes = await relay.quotes(at);
    const quote = chainId === undefined ? quotes[0] : quotes.find(({ chain_id: id }) => id === chainId);
    if (quote === undefined) {
      const ids = quotes.map(({ chain_id: id }) => id);
      return fail("invalid_request", `\`chain_id\` must be one of ${ids.join(", ")}.`, { param: "chain_id" });
    }
    const nano = BigInt(
      parseUsd(amount) ?? fail("invalid_request", "`amount` must be dollars, like 5.00.", { param: "amount" }),
    );
    if (nano === 0n || nano % NANO_USD_PER_TOKEN_UNIT !== 0n) {
      fail("invalid_request", "`amount` must be above zero, with at most 6 decimals.", { param: "amount" });
    }
    const top_up: TopUpTerms = {
      ...{ owner: lowerAddress(owner), account: lowerAddress(account), amount: String(nano / NANO_USD_PER_TOKEN_UNIT) },
      ...{ fee: quote.fee_token, feeTo: quote.fee_to, deadline: topUpDeadline(quote, at) },
      salt: `0x${Buffer.from(gateway.environment.random.bytes(32)).toString("hex")}`,
    };
    const isPermit = quote.method === "permit";
    const deadline = BigInt(top_up.deadline);
    const sign = isPermit
      ? [
          topUpTypedData(quote, top_up),
          permitTypedData(quote, top_up, { nonce: await relay.permitNonce(quote.chain_id, owner, client), deadline }),
        ]
      : [receiveTypedData(quote, top_up)];
    const data = {
      ...{ id: topUpId(top_up), chain_id: quote.chain_id, top_up, sign },
      permit_deadline: isPermit ? top_up.deadline : null,
    };
    return context.body(JSON.stringify({ data }, withoutBigInts), 200, { "content-type": "application/json" });
  },
});

function withoutBigInts(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
