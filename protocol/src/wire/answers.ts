import * as z from "zod";
import { errorTable } from "../errors.ts";
import { modelTypes } from "./catalogue.ts";
import { activationOnItsWay, secondaryBooks } from "./dollars.ts";
import { address, amounts, amountsOrNull, anyAmounts, count, estimated, hash, nanoUsd, time, usd } from "./fields.ts";
import { jsonObject } from "./json.ts";
import { receiptSettlement, settlementStatus } from "./settlement.ts";
import { topUpTold } from "./top-up.ts";

/** The gateway's answers, for its documentation. Tests check real answers with these schemas. */
export const errorAnswer = z.strictObject({
  error: z.strictObject({
    message: z.string().describe("What is wrong, and what to do about it."),
    type: z.string(),
    param: z.string().nullable().describe("The field that it is about."),
    code: z.enum(Object.keys(errorTable) as [string, ...string[]]),
    metadata: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.int()), topUpTold]))
      .optional()
      .describe(
        "Numbers a program can use: what was needed, what is left, when it resets, and in `top_up` how to pay.",
      ),
  }),
});

const usage = z.strictObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.strictObject({ cached_tokens: count, cache_write_tokens: count }),
  completion_tokens_details: z.strictObject({ reasoning_tokens: count }),
  ...amounts("cost"),
  estimated,
  receipt: z.string().optional().describe("Of a stream: the signed receipt, as `x-receipt` has it of a whole answer."),
});

export const chatAnswer = z.looseObject({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.looseObject({
      index: count,
      finish_reason: z.string().nullable(),
      message: z.looseObject({ role: z.literal("assistant"), content: z.string().nullable() }),
    }),
  ),
  usage: usage.optional(),
});

export const chatChunk = z.looseObject({
  id: z.string(),
  object: z.literal("chat.completion.chunk"),
  created: z.int(),
  model: z.string(),
  choices: z.array(z.looseObject({ index: count, delta: jsonObject, finish_reason: z.string().nullable().optional() })),
  usage: usage.nullish(),
});

/** The most that a chat request can cost. */
export const quoteAnswer = z.strictObject({
  data: z.strictObject({
    model: z.string().describe("The model that an alias stands for."),
    ...amounts("max_cost"),
    max_prompt_tokens: count.describe("A bound, from the bytes of the prompt."),
    max_completion_tokens: count.describe("Of all choices: the output limit, or the model's maximum without one."),
    price_snapshot: z.string().describe("The prices of the quote: GET /api/v1/prices/{snapshot}."),
  }),
});

export const embeddingsAnswer = z.looseObject({
  object: z.literal("list"),
  model: z.string(),
  data: z.array(
    z.looseObject({
      object: z.literal("embedding"),
      index: count,
      embedding: z.union([z.array(z.number()), z.string()]).describe("Numbers, or their bytes in base64."),
    }),
  ),
  usage: usage.optional(),
});

export const transcriptionAnswer = z.looseObject({
  text: z.string(),
  duration: z.union([z.number(), z.string()]).optional().describe("Seconds."),
  usage: z.strictObject({
    type: z.literal("duration"),
    seconds: z.number(),
    ...amounts("cost"),
    estimated,
  }),
});

export const imagesAnswer = z.looseObject({
  created: z.int(),
  data: z.array(z.looseObject({ b64_json: z.string().optional(), url: z.string().optional() })),
});

export const imageGenerateAnswer = z.looseObject({
  id: z.string(),
  images: z.array(z.string()).describe("Each in base64."),
});

export const modelAnswer = z.looseObject({
  id: z.string(),
  object: z.literal("model"),
  created: z.int(),
  owned_by: z.string(),
  type: z.enum(modelTypes),
  display_name: z.string(),
  created_at: time,
  max_input_tokens: z.int().nullable().describe("The same as `context_length`."),
  max_tokens: z.int().nullable().describe("The most that the model writes."),
  supported_parameters: z.array(z.string()).optional().describe("Of a chat model: fields of a request that it takes."),
  alias_of: z.string().optional().describe("The model that this is another name of."),
  fallbacks: z.array(z.string()).optional().describe("Of an alias: the models that serve chat if that one cannot."),
  context_length: z.int().nullable(),
  pricing: jsonObject.describe("Exact decimal strings in dollars, per token, character or image."),
  features: z
    .looseObject({
      privacy: z.string().optional().describe("`private`: the provider keeps nothing of a request."),
      region_restrictions: z.array(z.string()).optional().describe("Regions from which it cannot be called."),
      removes_at: z.string().optional().describe("The date from which it is not served."),
      replacement_model: z.string().optional(),
      quantization: z.string().optional(),
    })
    .optional(),
});

export const modelsAnswer = z.strictObject({
  object: z.literal("list"),
  has_more: z.literal(false).describe("The list is complete."),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  models: z.array(z.never()).optional().describe("Empty; there if `client_version` was sent, as Codex does."),
  data: z.array(modelAnswer),
});

export const modelNamesAnswer = z.strictObject({
  object: z.literal("list"),
  type: z.enum(modelTypes),
  data: z.record(z.string(), z.string()).describe("A name, and the id of the model that it stands for."),
});

export const imageStylesAnswer = z.strictObject({ object: z.literal("list"), data: z.array(z.string()) });

const generation = z.strictObject({
  id: z.string().describe("The answer's `x-request-id`."),
  upstream_id: z.string().nullable().describe("The `id` in the answer's body."),
  model: z.string().nullable(),
  route: z.string().nullable(),
  key_id: z.string().nullable(),
  tag: z.string().nullable().describe("The request's `X-Title`."),
  created_at: time,
  generation_time: count.describe("Milliseconds."),
  streamed: z.boolean().nullable(),
  cancelled: z.boolean(),
  outcome: z.enum(["settled", "released"]),
  basis: z
    .enum(["nothing", "usage", "flat", "delivered", "hold", "record", "checkpoint"])
    .describe("What the charge rests on."),
  total_cost: usd,
  charge_nano_usd: nanoUsd,
  held_nano_usd: nanoUsd.describe("The most it could have cost."),
  price_snapshot: z.string().nullable(),
  tokens_prompt: count.nullable(),
  tokens_completion: count.nullable(),
  native_tokens_prompt: count.nullable(),
  native_tokens_completion: count.nullable(),
  native_tokens_reasoning: count.nullable(),
  native_tokens_cached: count.nullable(),
  native_tokens_cache_write: count.nullable(),
  audio_seconds: z.number().nullable().describe("The duration of transcribed audio."),
  served_by: z
    .union([z.literal("protocol"), address])
    .nullable()
    .describe("`protocol`, or the agent whose allowance paid. Null: an identity spent its own capacity."),
  offer: hash.nullable().describe("The hash of the agent's offer."),
  ...amounts("rebate"),
  ends_at_nano_usd: nanoUsd
    .nullable()
    .describe(
      "The account's total of charges after it: up to `debited_nano_usd` of GET /api/v1/statements it is final. Null: " +
        "nothing was charged to the balance.",
    ),
});

export const pricesAnswer = z.strictObject({
  data: z.array(
    z.strictObject({
      id: z.string(),
      type: z.enum(["text", "embedding", "image", "speech", "transcription", "edit", "upscale"]),
      pricing: jsonObject.describe("As in GET /api/v1/models."),
    }),
  ),
});

export const generationAnswer = z.strictObject({
  data: generation.extend({
    tried: z
      .array(z.strictObject({ model: z.string(), why: z.string() }))
      .optional()
      .describe("The models before `model` that could not serve the request. Absent: there were none."),
    signed_receipt: z
      .string()
      .nullable()
      .describe("The header `x-receipt` of the answer (JWS, EdDSA). Null: nothing was charged to the balance."),
    settlement: receiptSettlement
      .nullable()
      .describe("What became of the charge on chain. Null: nothing was charged to the balance."),
  }),
});

const activityTotal = z.strictObject({
  date: z.iso.date().optional(),
  model: z.string().nullable().optional(),
  key_id: z.string().nullable().optional(),
  tag: z.string().nullable().optional().describe("Null: requests without one. `other`: also the tags beyond 32."),
  requests: count,
  ...amounts("usage"),
  prompt_tokens: count,
  completion_tokens: count,
});

export const activityAnswer = z.union([
  z.strictObject({
    data: z.array(generation),
    next_cursor: z.string().nullable().describe("Where the next page begins. A page may be short and not be the last."),
  }),
  z.strictObject({ data: z.array(activityTotal) }).describe("With `group_by`."),
]);

export const creditsAnswer = z.strictObject({
  balance: z.string().describe("`data.available`, for clients that read Vercel's AI Gateway."),
  total_used: z.string().describe("`data.total_usage`, for the same clients."),
  data: z.strictObject({
    ...amounts("total_credits", "total_usage", "reserved", "available"),
    ...amounts("debited", "taken_over"),
    pending: z
      .array(z.strictObject({ ...amounts("amount"), block: count, transaction: z.string() }))
      .nullable()
      .describe("Activations on the primary chain that are not final yet; null while the chain cannot be read."),
    on_their_way: z
      .array(activationOnItsWay)
      .nullable()
      .describe(
        "Activations that are not in the balance yet, from every chain that the gateway reads; null while the primary " +
          "chain cannot be read.",
      ),
  }),
});

export const sessionAnswer = z.strictObject({ token: z.string() });
export const nonceAnswer = z.strictObject({ nonce: z.string() });

export const rootAnswer = z.strictObject({
  name: z.string(),
  version: z.string(),
  docs: z.url(),
  openapi: z.url(),
  llms: z.url(),
  models: z.url(),
  status: z.url(),
});

export const healthAnswer = z.strictObject({
  status: z.enum(["ok", "degraded", "unavailable"]),
  checks: z.strictObject({
    ledger: z.enum(["ok", "unavailable", "behind"]).describe("`behind`: the chain is not read far enough."),
    prices: z.enum(["ok", "unavailable"]),
    provider: z.enum(["ok", "refused", "unknown"]).describe("Whether the provider accepts the gateway's key."),
  }),
  chain: z.enum(["starting", "following", "halted"]),
  action: z.string().optional().describe("What the operator is to do."),
  row_version: z
    .int()
    .optional()
    .describe("In a Worker: the newest version of stored rows that this release reads. `npm run deploy` compares it."),
});

const contracts = z
  .object({
    inferenceToken: address,
    tokenMinter: address,
    inferenceSettlement: address,
    stablecoin: address,
    inferencePool: address,
    agentRegistry: address,
    tokenBridge: address.describe("The same on every chain: `activateOnBase` is called there on a secondary one."),
  })
  .partial()
  .catchall(address);

export const contractsAnswer = z.strictObject({
  data: z.strictObject({
    chains: z
      .array(
        z.strictObject({
          chain_id: z.int(),
          role: z.enum(["primary", "secondary"]),
          name: z.string().nullable(),
          layerzero_eid: count.nullable().describe("LayerZero's endpoint id: what `quote` and `bridge` take."),
          rpc_url: z.string().nullable().describe("A public node, if the operator named one."),
          stablecoin: z
            .strictObject({ address: address.nullable(), decimals: count, symbol: z.string().nullable() })
            .nullable()
            .describe("The dollar that the minter takes; null where the operator told nothing of it."),
          start_block: count.describe("No event of the contracts is older. 0 where the operator did not say so."),
          contracts: contracts.describe("Addresses by name. A name that ends in digits is one of several contracts."),
        }),
      )
      .describe("The primary chain first."),
    receipt_key: hash.nullable().describe("The public key (Ed25519) that signs receipts, as the settlement has it."),
    abis: z
      .record(z.string(), z.array(z.looseObject({ type: z.string() })))
      .describe(
        "ABIs by the contract's name, without digits at its end. Each has the errors of the contracts that it calls.",
      ),
  }),
});

export const statusAnswer = z.strictObject({
  data: z.looseObject({
    version: z.string(),
    base_url: z.string(),
    operator: z
      .strictObject({
        name: z.string(),
        logo_url: z.string().nullable(),
        support_url: z.string().nullable().describe("A page, or `mailto:`."),
        terms_url: z.string().nullable(),
        privacy_url: z.string().nullable(),
        on_ramp_url: z.string().nullable().describe("A service that sells the stablecoin for a card payment."),
      })
      .describe("The service's name and links, as its operator sets them. Null: not set."),
    time: time.describe("The gateway's clock, by which signed messages are dated."),
    ceiling: z.strictObject({
      ...amounts("limit", "settled", "held", "left"),
      resets_at: time.nullable(),
    }),
    primary_chain_id: z.int().nullable(),
    chain_ids: z.array(z.int()).describe("The chains that a signed message may name."),
    layerzero_eids: z.record(z.string(), count).describe("LayerZero's endpoint ids, by chain id."),
    contracts: z.record(z.string(), contracts).describe("By chain id: those that the operator named."),
    following: z.strictObject({
      state: z.enum(["starting", "following", "halted"]),
      block: z.int().nullable(),
      lag_blocks: z.int().nullable(),
    }),
    settler: z
      .strictObject({
        state: z.enum(["starting", "idle", "posting", "waiting"]),
        reason: z.string().nullable().describe("Why it waits."),
        address: z.string(),
        last_poll_at: time.nullable(),
      })
      .nullable()
      .describe("What posts statements on chain. Null: this gateway posts nothing."),
    settlement: settlementStatus
      .nullable()
      .describe("What is posted on chain, as far as the gateway has read its final blocks. Null: it has read none."),
    books: z
      .strictObject({
        block: count,
        at: time,
        ...anyAmounts("backing", "supply", "credit", "owed", "lines"),
        chains: z.array(secondaryBooks).describe("The secondary chains."),
        adds_up: z
          .boolean()
          .nullable()
          .describe(
            "Whether `backing` is the sum of `supply`, `credit`, `owed` and `lines`, and the books of every secondary " +
              "chain add up. Null: what is known does, and a chain is not known.",
          ),
      })
      .nullable()
      .describe("The contracts' books in the primary chain's latest block; null while the chain does not tell them."),
    prices: z.strictObject({ snapshot: z.string(), age_s: count, models: count }).nullable(),
    provider_bill: z
      .strictObject({ day: z.iso.date(), ...amountsOrNull("listed", "provider") })
      .nullable()
      .describe(
        "The last UTC day that was reconciled: the cost of its requests at list prices, and what the provider charged for " +
          "it by its own record. An amount is null until it is known. Null: the gateway does not read that record, or no " +
          "recent day is reconciled.",
      ),
    receipt_retention_days: count.describe("How long receipts and their prices are kept. Totals are kept forever."),
  }),
});
