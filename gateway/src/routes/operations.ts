import { MAX_KEYS_PER_ACCOUNT } from "@inference/ledger/limits";
import { activityQuery } from "@inference/protocol/wire/activity";
import * as answers from "@inference/protocol/wire/answers";
import * as z from "zod";
import { json, type Operation, ok } from "../docs/operation.ts";
import { signInBody } from "./auth.ts";
import { inferenceOperations } from "./inference-operations.ts";
import { keyChangeBody, keyCreationBody } from "./keys.ts";
import { everywhere, knowing, reading, withBody, withCredential, withSignature } from "./operation-errors.ts";

/** Every route, as clients read of it. */
export const operations: readonly Operation[] = [
  ...inferenceOperations,
  {
    method: "GET",
    path: "/api/v1/credits",
    id: "getCredits",
    group: "Spending",
    title: "The account's balance",
    about: "Of the API key's account, or of the wallet whose session it is; an agent has none.",
    credentials: ["API key", "session"],
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
    method: "POST",
    path: "/api/v1/keys/{id}/limit",
    id: "setKeyTerms",
    group: "Keys",
    title: "Raise or change a key's limit, its window or its expiry",
    about:
      "For a message whose one resource is the key's own URL with its new limit, like " +
      "`/api/v1/keys/{id}?limit=20.00&limit_reset=daily`; `limit=none` lifts it. The limit is one over the key's " +
      "lifetime without `limit_reset`. The expiry stays unless `expires_at` names another, or `none`. What was spent " +
      "stays counted.",
    credentials: [],
    pathParameters: { id: "The key's id." },
    body: { name: "KeyCreation", schema: keyCreationBody },
    answers: [ok("The key as it is now.", json("KeyAnswer", answers.keyAnswer))],
    errors: [...withBody, "unsupported_parameter", "key_expired", "not_found", ...withSignature, ...reading],
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
      "Sign-In With Ethereum. With `agentToken` the session speaks for that agent: any contract on the primary chain " +
      "whose `owner()` is who signed, as an identity of its own. It is 403 `not_agent_owner` where there is no " +
      "contract, where `owner()` fails or answers with no address, and where it is another. A session lasts a day.",
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
    path: "/api/v1/contracts",
    id: "getContracts",
    group: "Operation",
    title: "The chains, the addresses of the contracts on them, and their ABIs",
    about:
      "What a wallet needs to mint and activate. It changes only when the operator changes it: keep the `etag`, and " +
      "`if-none-match` answers 304 while it is the same. While the chain contradicts the gateway's settings or books " +
      "this is 503 `chain_unavailable`: send no money then.",
    credentials: [],
    headers: { "If-None-Match": "The `etag` of an earlier answer." },
    answers: [
      ok("The chains and ABIs.", json("ContractsAnswer", answers.contractsAnswer)),
      { status: 304, about: "The earlier answer still holds.", content: {} },
    ],
    errors: ["chain_unavailable", ...everywhere],
  },
  {
    method: "GET",
    path: "/healthz",
    id: "getHealth",
    group: "Operation",
    title: "Whether a paid request could be admitted now",
    credentials: [],
    answers: [
      ok("It could; `degraded` if the provider refuses the gateway's key.", json("HealthAnswer", answers.healthAnswer)),
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
    path: "/",
    id: "getRoot",
    group: "Documentation",
    title: "Where the documentation is",
    credentials: [],
    answers: [ok("Addresses.", json("RootAnswer", answers.rootAnswer))],
    errors: everywhere,
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
