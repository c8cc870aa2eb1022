import { encodeBase32 } from "@inference/protocol/base32";
import { isAddress } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import { keyLimitNames } from "@inference/protocol/key-limit";
import { keyMessageText, keyResource } from "@inference/protocol/key-message";
import { limitResets } from "@inference/protocol/window";
import { keyMessageAnswer } from "@inference/protocol/wire/key-message";
import { getAddress } from "viem/utils";
import * as z from "zod";
import { parseKeyTerms } from "../auth/key-terms.ts";
import { limits } from "../config.ts";
import { json, ok } from "../docs/operation.ts";
import { validate } from "../http/json/validate.ts";
import { queryOf } from "../http/query.ts";
import { endpoint } from "./endpoint.ts";

const query = z.strictObject({
  address: z.string().describe("The wallet that signs, with 0x."),
  chain_id: z.coerce
    .number()
    .int()
    .optional()
    .describe("A chain of `GET /api/v1/contracts`; the primary one if absent."),
  name: z.string().optional(),
  limit: z.string().optional().describe("In US dollars, like 5.00."),
  limit_reset: z.enum(limitResets).optional().describe("Without it the limit is one over the key's lifetime."),
  ...Object.fromEntries(keyLimitNames.map((name) => [name, z.string().optional()])),
  models: z.string().optional().describe("Ids of models, or beginnings with `*` at the end, with commas between them."),
  private: z.string().optional().describe("`true`: models alone that the provider calls private."),
  expires_at: z.string().optional().describe("An RFC 3339 time."),
});

export const getKeyMessage = endpoint({
  path: "/api/v1/keys/message",
  id: "getKeyMessage",
  group: "Keys",
  title: "The text to sign for a key",
  about:
    "The EIP-4361 message that `POST /api/v1/keys` takes for these terms, with a new nonce. Read it before you sign it: " +
    "the key gets the terms in its last line. Nothing is stored, and a message that a client wrote itself is as good.",
  query,
  answers: [ok("The message.", json("KeyMessageAnswer", keyMessageAnswer))],
  errors: ["unsupported_parameter"],
  handle(context) {
    const { gateway, at } = context.var;
    const { config, environment } = gateway;
    const { address, chain_id: chainId = config.chainIds[0] ?? 0, ...terms } = validate(query, queryOf(context));
    if (!isAddress(address)) {
      fail("invalid_request", "`address` must be 0x and 40 hexadecimal digits.", { param: "address" });
    }
    if (!config.chainIds.includes(chainId)) {
      const message = `\`chain_id\` must be one of ${config.chainIds.join(", ")}.`;
      fail("invalid_request", message, { param: "chain_id", metadata: { chain_ids: config.chainIds } });
    }
    const request = { type: "create", terms } as const;
    const resource = keyResource(config.baseUrl, request);
    // Terms that the message would be refused for are refused now.
    parseKeyTerms(resource, at);
    const nonce = encodeBase32(environment.random.bytes(15));
    const signer = { address: getAddress(address), chainId, nonce, issuedAt: at };
    return context.json({
      data: {
        message: keyMessageText({ baseUrl: config.baseUrl, ...signer, request }),
        address: signer.address,
        chain_id: chainId,
        nonce,
        resource,
        issued_at: new Date(at).toISOString(),
        valid_until: new Date(at + limits.messageMs).toISOString(),
      },
    });
  },
});
