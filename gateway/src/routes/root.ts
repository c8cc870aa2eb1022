import { rootAnswer } from "@inference/protocol/wire/answers";
import { apiInfo } from "../docs/openapi.ts";
import { json, ok } from "../docs/operation.ts";
import { dashboardPage } from "./dashboard-page.ts";
import { endpoint } from "./endpoint.ts";
import { commonErrors } from "./endpoint-errors.ts";

export const getRoot = endpoint({
  method: "GET",
  path: "/",
  id: "getRoot",
  group: "Documentation",
  title: "Where the documentation is",
  about: "A browser, which accepts `text/html`, gets the dashboard instead if the gateway has it.",
  credentials: [],
  answers: [ok("Addresses, or the page.", { ...json("RootAnswer", rootAnswer), "text/html": null })],
  errors: commonErrors,
  handle(context) {
    const { config, environment } = context.get("gateway");
    context.header("vary", "accept");
    const isBrowser = /\btext\/html\b/i.test(context.req.header("accept") ?? "");
    if (isBrowser && environment.dashboard !== undefined) return dashboardPage(context, environment.dashboard);
    const { baseUrl } = config;
    const paths = { docs: "/docs", openapi: "/openapi.json", llms: "/llms.txt", models: "/api/v1/models" };
    const links = Object.entries({ ...paths, status: "/api/v1/status" }).map(([name, path]) => [name, baseUrl + path]);
    return context.json({ name: apiInfo.title, version: apiInfo.version, ...Object.fromEntries(links) });
  },
});
