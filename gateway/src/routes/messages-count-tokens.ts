import { countTokensAnswer, countTokensRequest } from "@inference/protocol/wire/messages";
import { json, ok } from "../docs/operation.ts";
import { readJsonBody } from "../http/body.ts";
import { requireCredential } from "../http/credential.ts";
import { makeSenderProof } from "../http/sender-proof.ts";
import { estimatePrompt, parseCountTokens } from "../inference/requests/count-tokens.ts";
import { orderContext } from "../inference/serve.ts";
import { endpoint, inferencePrefixes } from "./endpoint.ts";
import { bodyErrors, credentialErrors, ledgerErrors } from "./endpoint-errors.ts";

export const countTokens = endpoint({
  method: "POST",
  prefixes: inferencePrefixes,
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
  async handle(context) {
    const gateway = context.get("gateway");
    const credential = requireCredential(context);
    const proof = makeSenderProof(context, credential);
    await proof.prove();
    const body = await readJsonBody(context, gateway.config.request.chatBodyBytes, proof);
    const work = parseCountTokens(body.value, orderContext(gateway, credential.partition, body));
    const prompt = await gateway.slicedWork.run(credential.partition, work);
    const input_tokens = await gateway.slicedWork.run(credential.partition, estimatePrompt(prompt));
    return context.json({ input_tokens }, 200, { "request-id": context.get("requestId") });
  },
});
