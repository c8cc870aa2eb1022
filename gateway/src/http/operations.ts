import { MAX_KEYS_PER_ACCOUNT } from "@inference/ledger/limits";
import { activityQuery } from "@inference/protocol/wire/activity";
import * as answers from "@inference/protocol/wire/answers";
import { catalogueQuery } from "@inference/protocol/wire/catalogue";
import { chatRequest } from "@inference/protocol/wire/chat";
import { embeddingsRequest } from "@inference/protocol/wire/embeddings";
import { imageGenerateRequest } from "@inference/protocol/wire/image-generate";
import { imagesRequest } from "@inference/protocol/wire/images";
import { speechRequest } from "@inference/protocol/wire/speech";
import * as z from "zod";
import type { NamedSchema, Operation, OperationAnswer } from "../docs/operation.ts";
import {
  catalogueErrors,
  everywhere,
  knowing,
  paid,
  reading,
  withBody,
  withCredential,
  withSignature,
} from "./operation-errors.ts";
import { signInBody } from "./routes/auth.ts";
import { keyChangeBody, keyCreationBody } from "./routes/keys.ts";

const json = (name: string, schema: z.ZodType): Record<string, NamedSchema> => ({
  "application/json": { name, schema },
});
const ok = (about: string, content: OperationAnswer["content"]): OperationAnswer => ({ status: 200, about, content });

const inference = (operation: Pick<Operation, "path" | "id" | "title" | "about" | "body" | "answers">): Operation => ({
  method: "POST",
  group: "Inference",
  credentials: ["API key", "session"],
  headers: {
    "Idempotency-Key":
      "Your name for the request, at most 255 letters: sent again within a day, it is paid once. An account's keys " +
      "share their names.",
  },
  errors: operation.id === "createChatCompletion" ? [...paid, "context_length_exceeded"] : paid,
  ...operation,
});

/** Every route, as clients read of it. The inference API is the same under `/v1`. */
export const operations: readonly Operation[] = [
  inference({
    path: "/api/v1/chat/completions",
    id: "createChatCompletion",
    title: "Chat",
    about:
      "Always give `max_tokens`: without it the model's whole maximum output is reserved. With `stream: true` the " +
      "answer is a stream of events, each a chunk, and `[DONE]` at its end. Harmless fields that change nothing, such " +
      "as `user`, are dropped and named in `x-ignored-parameters`; what is not known is refused.",
    body: { name: "ChatRequest", schema: chatRequest },
    answers: [
      ok("The answer; `usage.cost` is what was charged.", {
        ...json("ChatAnswer", answers.chatAnswer),
        "text/event-stream": { name: "ChatChunk", schema: answers.chatChunk },
      }),
    ],
  }),
  inference({
    path: "/api/v1/embeddings",
    id: "createEmbeddings",
    title: "Embeddings",
    body: { name: "EmbeddingsRequest", schema: embeddingsRequest },
    answers: [ok("One embedding for each input.", json("EmbeddingsAnswer", answers.embeddingsAnswer))],
  }),
  inference({
    path: "/api/v1/images/generations",
    id: "createImage",
    title: "An image, as OpenAI's clients ask for one",
    body: { name: "ImagesRequest", schema: imagesRequest },
    answers: [ok("The image.", json("ImagesAnswer", answers.imagesAnswer))],
  }),
  inference({
    path: "/api/v1/image/generate",
    id: "generateImage",
    title: "Images, with all options",
    body: { name: "ImageGenerateRequest", schema: imageGenerateRequest },
    answers: [
      ok("The images, or with `return_binary` the bytes of one.", {
        ...json("ImageGenerateAnswer", answers.imageGenerateAnswer),
        "image/*": null,
      }),
    ],
  }),
  inference({
    path: "/api/v1/audio/speech",
    id: "createSpeech",
    title: "Speech",
    body: { name: "SpeechRequest", schema: speechRequest },
    answers: [ok("The sound, as it is made.", { "audio/*": null })],
  }),
  {
    method: "GET",
    path: "/api/v1/models",
    id: "listModels",
    group: "Inference",
    title: "Every model and its price",
    about:
      "Exactly the models that can be served. Anyone may ask; a key that is sent must be good. A model that costs " +
      "nothing needs no balance.",
    credentials: [],
    answers: [ok("The models.", json("ModelsAnswer", answers.modelsAnswer))],
    errors: ["upstream_unavailable", ...knowing],
  },
  {
    method: "GET",
    path: "/api/v1/models/traits",
    id: "getModelTraits",
    group: "Inference",
    title: "Models by what they are good for",
    about: "As the provider has it, for models that can be served. Use the id: a trait is no name of a model here.",
    credentials: [],
    query: catalogueQuery,
    answers: [ok("A model for each trait.", json("ModelNamesAnswer", answers.modelNamesAnswer))],
    errors: catalogueErrors,
  },
  {
    method: "GET",
    path: "/api/v1/models/compatibility_mapping",
    id: "getModelCompatibility",
    group: "Inference",
    title: "Models by the names of others'",
    about: "As the provider has it, for models that can be served. Use the id: such a name is no name of a model here.",
    credentials: [],
    query: catalogueQuery,
    answers: [ok("A model for each name.", json("ModelNamesAnswer", answers.modelNamesAnswer))],
    errors: catalogueErrors,
  },
  {
    method: "GET",
    path: "/api/v1/image/styles",
    id: "getImageStyles",
    group: "Inference",
    title: "What `style_preset` of an image may be",
    credentials: [],
    answers: [ok("The styles.", json("ImageStylesAnswer", answers.imageStylesAnswer))],
    errors: catalogueErrors,
  },
  {
    method: "GET",
    path: "/api/v1/models/{id}",
    id: "getModel",
    group: "Inference",
    title: "One model",
    credentials: [],
    pathParameters: { id: "The model's id; it may have slashes in it." },
    answers: [ok("The model.", json("ModelAnswer", answers.modelAnswer))],
    errors: ["model_not_found", "upstream_unavailable", ...knowing],
  },
  {
    method: "GET",
    path: "/api/v1/credits",
    id: "getCredits",
    group: "Spending",
    title: "The account's balance",
    credentials: ["API key"],
    answers: [ok("The balance, and the activations on their way to it.", json("CreditsAnswer", answers.creditsAnswer))],
    errors: ["wrong_identity", ...knowing],
  },
  {
    method: "GET",
    path: "/api/v1/generation",
    id: "getGeneration",
    group: "Spending",
    title: "The receipt of a request",
    about:
      "By our id, or by the body's `id` of one of the last 1,000 requests. A request has a receipt as soon as it has ended.",
    credentials: ["API key", "session"],
    query: z.strictObject({
      id: z.string().min(1).max(200).describe("The answer's `x-request-id` header, or the `id` in its body."),
    }),
    answers: [ok("The receipt.", json("GenerationAnswer", answers.generationAnswer))],
    errors: ["not_found", ...knowing],
  },
  {
    method: "GET",
    path: "/api/v1/activity",
    id: "getActivity",
    group: "Spending",
    title: "What was spent",
    about:
      "Receipts, the newest first, page by page; with `group_by` what they come to. An API key reads its own, a " +
      "wallet's session all of the wallet's. Totals stay when receipts are forgotten.",
    credentials: ["API key", "session"],
    query: activityQuery,
    answers: [
      ok("The receipts or totals. As CSV, `x-next-cursor` tells where the next page begins.", {
        ...json("ActivityAnswer", answers.activityAnswer),
        "text/csv": null,
      }),
    ],
    errors: ["unsupported_parameter", "wrong_identity", ...knowing],
  },
  {
    method: "GET",
    path: "/api/v1/key",
    id: "getOwnKey",
    group: "Keys",
    title: "The key or session that asks",
    about:
      "What it may spend, what it has spent, and which budget would stop it first. A session has the names of a key, " +
      "and for its limit the capacity of its wallet or agent for the day.",
    credentials: ["API key", "session"],
    answers: [ok("The key, or the session.", json("OwnKeyAnswer", answers.ownKeyAnswer))],
    errors: ["upstream_unavailable", ...knowing],
  },
  {
    method: "POST",
    path: "/api/v1/keys",
    id: "createKey",
    group: "Keys",
    title: "A new API key",
    about:
      "For an EIP-4361 message whose one resource is this route with the key's terms: `name`, `limit` in dollars, " +
      "`limit_reset` (`daily` or `monthly`) and `expires_at`, all optional. An account has at most " +
      `${MAX_KEYS_PER_ACCOUNT} keys that are not revoked; one more is \`invalid_request\` with \`max_keys\`. One that ` +
      "expired is forgotten within three days and makes room, as one does that is not used and whose account is not " +
      "credited, about nine days after it was made.",
    credentials: [],
    body: { name: "KeyCreation", schema: keyCreationBody },
    answers: [{ status: 201, about: "The key, this once.", content: json("NewKeyAnswer", answers.newKeyAnswer) }],
    errors: [...withBody, "unsupported_parameter", ...withSignature, ...reading],
  },
  {
    method: "GET",
    path: "/api/v1/keys",
    id: "listKeys",
    group: "Keys",
    title: "The wallet's keys",
    credentials: ["session"],
    answers: [ok("Those not revoked, the newest first.", json("KeysAnswer", answers.keysAnswer))],
    errors: ["wrong_identity", ...knowing],
  },
  {
    method: "PATCH",
    path: "/api/v1/keys/{id}",
    id: "changeKey",
    group: "Keys",
    title: "Rename, disable or enable a key, or lower its limit",
    credentials: ["session"],
    pathParameters: { id: "The key's id." },
    body: { name: "KeyChange", schema: keyChangeBody },
    answers: [ok("The key as it is now.", json("KeyAnswer", answers.keyAnswer))],
    errors: [...withBody, "unsupported_parameter", ...withCredential, "wrong_identity", "not_found", ...reading],
  },
  {
    method: "POST",
    path: "/api/v1/keys/{id}/roll",
    id: "rollKey",
    group: "Keys",
    title: "Another secret for a key",
    about: "Its id, limits and history stay; the old secret is void at once. For a message that names this route.",
    credentials: [],
    pathParameters: { id: "The key's id." },
    body: { name: "KeyCreation", schema: keyCreationBody },
    answers: [ok("The key, this once.", json("NewKeyAnswer", answers.newKeyAnswer))],
    errors: [...withBody, "unsupported_parameter", "not_found", ...withSignature, ...reading],
  },
  {
    method: "DELETE",
    path: "/api/v1/keys/{id}",
    id: "revokeKey",
    group: "Keys",
    title: "Revoke a key, at once and for good",
    credentials: ["session"],
    pathParameters: { id: "The key's id." },
    answers: [ok("It is revoked.", json("DeletedAnswer", answers.deletedAnswer))],
    errors: ["wrong_identity", "not_found", ...knowing],
  },
  {
    method: "POST",
    path: "/auth",
    id: "signIn",
    group: "Signing in",
    title: "A session, for a signed message",
    about:
      "Sign-In With Ethereum. With `agentToken` the session speaks for that agent, if its `owner()` is who signed. A " +
      "session lasts a day.",
    credentials: [],
    body: { name: "SignIn", schema: signInBody },
    answers: [ok("The session's token.", json("SessionAnswer", answers.sessionAnswer))],
    errors: [...withBody, "unsupported_parameter", ...withSignature, "not_agent_owner", ...reading],
  },
  {
    method: "DELETE",
    path: "/auth",
    id: "signOut",
    group: "Signing in",
    title: "End the session",
    credentials: ["session"],
    answers: [{ status: 204, about: "It is void everywhere.", content: {} }],
    errors: ["wrong_identity", ...knowing],
  },
  {
    method: "GET",
    path: "/auth/nonce",
    id: "getNonce",
    group: "Signing in",
    title: "A nonce for a message",
    about: "One that the client made, of at least eight letters and digits, is as good.",
    credentials: [],
    answers: [ok("The nonce.", json("NonceAnswer", answers.nonceAnswer))],
    errors: everywhere,
  },
  {
    method: "GET",
    path: "/api/v1/status",
    id: "getStatus",
    group: "Operation",
    title: "The day's ceiling, the chains, the token's books, the prices in force",
    about:
      "The books are the contracts' own: the dollars behind the token, and what they are owed to. " +
      "While the chain contradicts the gateway's settings or books, no contract is named.",
    credentials: [],
    answers: [ok("How the gateway stands.", json("StatusAnswer", answers.statusAnswer))],
    errors: reading,
  },
  {
    method: "GET",
    path: "/healthz",
    id: "getHealth",
    group: "Operation",
    title: "Whether a paid request could be admitted now",
    credentials: [],
    answers: [
      ok("It could.", json("HealthAnswer", answers.healthAnswer)),
      { status: 503, about: "It could not.", content: json("HealthAnswer", answers.healthAnswer) },
    ],
    errors: everywhere,
  },
  {
    method: "GET",
    path: "/metrics",
    id: "getMetrics",
    group: "Operation",
    title: "Counters and gauges, in Prometheus' format",
    about: "There only if the operator has set METRICS_TOKEN. They name no account, key or address.",
    credentials: ["operator's token"],
    answers: [ok("The metrics.", { "text/plain": null })],
    errors: ["missing_credentials", "invalid_api_key", "not_found", ...everywhere],
  },
  {
    method: "GET",
    path: "/openapi.json",
    id: "getOpenApi",
    group: "Documentation",
    title: "This API as OpenAPI 3.1",
    credentials: [],
    answers: [ok("The document.", { "application/json": null })],
    errors: everywhere,
  },
  {
    method: "GET",
    path: "/docs",
    id: "getDocs",
    group: "Documentation",
    title: "This API as a page",
    credentials: [],
    answers: [ok("The page.", { "text/html": null })],
    errors: everywhere,
  },
  {
    method: "GET",
    path: "/llms.txt",
    id: "getLlmsText",
    group: "Documentation",
    title: "This API in short, for programs that write programs",
    credentials: [],
    answers: [ok("The text.", { "text/plain": null })],
    errors: everywhere,
  },
];
