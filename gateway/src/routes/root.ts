import { rootAnswer } from "@inference/protocol/wire/answers";
import { apiInfo } from "../docs/openapi.ts";
import { json, ok } from "../docs/operation.ts";
import { dashboardAt } from "./dashboard-page.ts";
import { endpoint } from "./endpoint.ts";

export const getRoot = endpoint({
  path: "/",
  id: "getRoot",
  group: "Documentation",
  title: "Where the documentation is",
  about: "A browser, which accepts `text/html`, gets the dashboard instead if the gateway has it.",
  answers: [ok("Addresses, or the page.", { ...json("RootAnswer", rootAnswer), "text/html": null })],
  handle(context) {
    context.header("vary", "accept");
    const page = dashboardAt(context);
    if (page !== undefined) return page;
    const { baseUrl } = context.get("gateway").config;
    const paths = { docs: "/docs", openapi: "/openapi.json", llms: "/llms.txt", models: "/api/v1/models" };
    const links = Object.entries({ ...paths, status: "/api/v1/status" }).map(([name, path]) => [name, baseUrl + path]);
    return context.json({ name: apiInfo.title, version: apiInfo.version, ...Object.fromEntries(links) });
  },
});
