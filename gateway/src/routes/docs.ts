import { fail } from "@inference/protocol/errors";
import { ok } from "../docs/operation.ts";
import { makePage } from "../docs/page.ts";
import { docsPages } from "../docs/pages.ts";
import { sendConstant } from "../http/constant-text.ts";
import type { GatewayContext } from "../http/context.ts";
import { pagePolicy } from "./dashboard-page.ts";
import { documented, madeOnce } from "./documents.ts";
import { type Endpoint, endpoint } from "./endpoint.ts";

export const getDocs = endpoint({
  path: "/docs",
  id: "getDocs",
  group: "Documentation",
  title: "The documentation's first page",
  answers: [ok("The page.", { "text/html": null })],
  handle: (context, endpoints) => sendDocs(context, endpoints, ""),
});

/** Sends a page of the documentation. The names of its files change with a version, so browsers ask each time. */
export function sendDocs(context: GatewayContext, endpoints: readonly Endpoint[], name: string): Response {
  const gateway = context.get("gateway");
  const pages = docsPages(endpoints);
  const page = pages.find((each) => each.name === name);
  if (page === undefined) return fail("not_found", "The documentation has no such page: see /docs.");
  const at = documented(gateway);
  const { service } = gateway.config.operator;
  const files = gateway.environment.dashboard?.docs;
  const text = madeOnce(gateway, `docs ${name} of ${JSON.stringify(at)}`, () =>
    makePage(page, pages, at, { service, files }),
  );
  return sendConstant(context, text, {
    "cache-control": "no-cache",
    "content-type": "text/html; charset=UTF-8",
    "content-security-policy": pagePolicy(gateway.config),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  });
}
