import { countTokensAnswer, countTokensRequest } from "@inference/protocol/wire/messages";
import { json, ok } from "../docs/operation.ts";
import { readBody } from "../http/body.ts";
import { requireCredential } from "../http/credential.ts";
import { makeSenderProof } from "../inference/admission/sender-proof.ts";
import { parseCountTokens } from "../inference/requests/count-tokens.ts";
import { readBodyOf, requireParsed } from "../inference/requests/read-body.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { bodyErrors, credentialErrors, ledgerErrors } from "./endpoint-errors.ts";

const parser = { name: "count_tokens", parse: parseCountTokens };

export const countTokens = endpoint({
  method: "POST",
  prefixes: apiPrefixes,
  path: "/messages/count_tokens",
  id: "countTokens",
  group: "Inference",
  title: "The tokens of a message's prompt",
  about: "An estimate from the size of the texts, with 1,600 tokens for an image. It costs nothing and holds nothing.",
  credentials: ["API key", "session"],
  body: { name: "CountTokensRequest", schema: countTokensRequest },
  answers: [ok("The estimate.", json("CountTokensAnswer", countTokensAnswer))],
  errors: [
    "unsupported_parameter",
    "unpriced_option",
    "model_not_found",
    "upstream_unavailable",
    ...bodyErrors,
    ...credentialErrors,
    ...ledgerErrors,
  ],
  errorSchema: "MessagesError",
  parser,
  async handle(context) {
    const gateway = context.get("gateway");
    const credential = requireCredential(context);
    const proof = makeSenderProof(context, credential);
    await proof.prove();
    const blocks = await readBody(context, gateway.config.request.chatBodyBytes, proof);
    const job = { blocks, wantsFingerprint: false };
    const input_tokens = requireParsed(await readBodyOf(gateway, credential.partition, parser, job));
    return context.json({ input_tokens }, 200, { "request-id": context.get("requestId") });
  },
});
