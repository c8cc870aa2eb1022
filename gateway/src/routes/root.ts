import { rootAnswer } from "@inference/protocol/wire/answers";
import { apiInfo } from "../docs/openapi.ts";
import { json, ok } from "../docs/operation.ts";
import { endpoint } from "./endpoint.ts";
import { commonErrors } from "./endpoint-errors.ts";

export const getRoot = endpoint({
  method: "GET",
  path: "/",
  id: "getRoot",
  group: "Documentation",
  title: "Where the documentation is",
  credentials: [],
  answers: [ok("Addresses.", json("RootAnswer", rootAnswer))],
  errors: commonErrors,
  handle(context) {
    const { baseUrl } = context.get("gateway").config;
    const paths = { docs: "/docs", openapi: "/openapi.json", llms: "/llms.txt", models: "/api/v1/models" };
    const links = Object.entries({ ...paths, status: "/api/v1/status" }).map(([name, path]) => [name, baseUrl + path]);
    return context.json({ name: apiInfo.title, version: apiInfo.version, ...Object.fromEntries(links) });
  },
});
