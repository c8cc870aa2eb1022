import { codingChoice, codingModel } from "@inference/protocol/coding-model";
import { fail } from "@inference/protocol/errors";
import type { Model, PriceSnapshot } from "@inference/protocol/model";
import { pricingOf } from "../catalogue/pricing-object.ts";
import { makeLlmsText } from "../docs/llms-text.ts";
import { makeOpenApi } from "../docs/openapi.ts";
import { type DocumentedGateway, ok } from "../docs/operation.ts";
import { makePage } from "../docs/page.ts";
import { docsPages } from "../docs/pages.ts";
import { makeSkill } from "../docs/skill-text.ts";
import type { Gateway } from "../gateway.ts";
import { type ConstantText, sendConstant } from "../http/constant-text.ts";
import type { GatewayContext } from "../http/context.ts";
import { BoundedMap } from "../load/bounded-map.ts";
import { pagePolicy } from "./dashboard-page.ts";
import { type Endpoint, endpoint } from "./endpoint.ts";

export const getOpenApi = endpoint({
  path: "/openapi.json",
  id: "getOpenApi",
  group: "Documentation",
  title: "This API as OpenAPI 3.1",
  answers: [ok("The document.", { "application/json": null })],
  handle: (context, endpoints) =>
    sendMade(context, "openapi", { ...cached, "content-type": "application/json" }, ({ baseUrl }) =>
      JSON.stringify(makeOpenApi(endpoints, baseUrl)),
    ),
});

export const getDocs = endpoint({
  path: "/docs",
  id: "getDocs",
  group: "Documentation",
  title: "The documentation's first page",
  answers: [ok("The page.", { "text/html": null })],
  handle: (context, endpoints) => sendDocs(context, endpoints, ""),
});

/** Sends a page of the documentation. The names of its files change with a version, so browsers ask each time. */
function sendDocs(context: GatewayContext, endpoints: readonly Endpoint[], name: string): Response {
  const gateway = context.get("gateway");
  const pages = docsPages(endpoints);
  const page = pages.find((each) => each.name === name);
  if (page === undefined) return fail("not_found", "The documentation has no such page: see /docs.");
  const { service } = gateway.config.operator;
  const files = gateway.environment.dashboard?.docs;
  const headers = {
    "cache-control": "no-cache",
    "content-type": "text/html; charset=UTF-8",
    "content-security-policy": pagePolicy(gateway.config),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
  return sendMade(context, `docs ${name}`, headers, (at) => makePage(page, pages, at, { service, files }));
}

export const getDocsPage = endpoint({
  path: "/docs/{page}",
  id: "getDocsPage",
  group: "Documentation",
  title: "A page of the documentation",
  pathParameters: { page: "As the menu at `/docs` names it: `tools`, `wallet`, `errors`, or a group of endpoints." },
  answers: [ok("The page.", { "text/html": null })],
  errors: ["not_found"],
  handle: (context, endpoints) => sendDocs(context, endpoints, context.req.param("page") ?? ""),
});

export const getLlmsText = endpoint({
  path: "/llms.txt",
  id: "getLlmsText",
  group: "Documentation",
  title: "This API in short, for programs that write programs",
  answers: [ok("The text.", { "text/plain": null })],
  handle: (context, endpoints) =>
    sendMade(context, "llms", { ...cached, "content-type": "text/plain; charset=UTF-8" }, (at) =>
      makeLlmsText(endpoints, at),
    ),
});

export const getSkill = endpoint({
  path: "/skill.md",
  id: "getSkill",
  group: "Documentation",
  title: "From a wallet to an answer, as a skill for agents",
  answers: [ok("The skill.", { "text/markdown": null })],
  handle: (context) =>
    sendMade(context, "skill", { ...cached, "content-type": "text/markdown; charset=UTF-8" }, makeSkill),
});

/** The documents change with the gateway's version and its models. Clients may cache them for five minutes. */
const cached = { "cache-control": "public, max-age=300" };

/** The texts that were made, by name. They change only when the example's model does. */
const made = new WeakMap<Gateway, BoundedMap<string, ConstantText>>();

/** Sends a text that is made once for each state of what the documentation names. */
function sendMade(
  context: GatewayContext,
  name: string,
  headers: Record<string, string>,
  make: (at: DocumentedGateway) => string,
): Response {
  const gateway = context.get("gateway");
  const at = documented(gateway);
  const key = `${name} of ${JSON.stringify(at)}`;
  const texts = made.get(gateway) ?? new BoundedMap<string, ConstantText>(32);
  made.set(gateway, texts);
  const text = texts.get(key) ?? { text: make(at) };
  // Each model name has its own texts. The last 32 are kept.
  if (!texts.has(key)) texts.set(key, text);
  return sendConstant(context, text, headers);
}

type Examples = Pick<DocumentedGateway, "model" | "coding">;

/** The examples' models are found once for each snapshot. */
const examples = new WeakMap<PriceSnapshot, Examples>();

/** The gateway as its documentation names it. */
function documented(gateway: Gateway): DocumentedGateway {
  const { baseUrl, chainIds } = gateway.config;
  return { baseUrl, chainIds, hasRelay: gateway.relay !== null, ...examplesOf(gateway.prices.known()) };
}

/** Models that are there; a name to replace while no prices are in force. */
function examplesOf(snapshot: PriceSnapshot | undefined): Examples {
  if (snapshot === undefined) return findExamples([]);
  const found = examples.get(snapshot) ?? findExamples([...snapshot.models.values()]);
  examples.set(snapshot, found);
  return found;
}

function findExamples(models: readonly Model[]): Examples {
  const texts = models.filter(({ price }) => price.kind === "text");
  const model = texts[0]?.id ?? NO_MODEL;
  const coding = codingModel(
    texts.map(({ id, contextTokens, features, price }) => ({
      ...{ id, type: "text", context_length: contextTokens, pricing: pricingOf(price) },
      supported_parameters: features.supportsTools === true ? ["tools"] : [],
    })),
  );
  if (coding === undefined) return { model, coding: { model, contextLength: null, why: null } };
  return { model, coding: { model: coding.id, contextLength: coding.context_length, why: codingChoice(coding) } };
}

const NO_MODEL = "MODEL";
