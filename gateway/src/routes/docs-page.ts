import { ok } from "../docs/operation.ts";
import { sendDocs } from "./docs.ts";
import { endpoint } from "./endpoint.ts";

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
