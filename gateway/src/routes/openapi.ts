import { makeOpenApi } from "../docs/openapi.ts";
import { ok } from "../docs/operation.ts";
import { sendConstant } from "../http/constant-text.ts";
import { cached, madeOnce } from "./documents.ts";
import { endpoint } from "./endpoint.ts";

export const getOpenApi = endpoint({
  path: "/openapi.json",
  id: "getOpenApi",
  group: "Documentation",
  title: "This API as OpenAPI 3.1",
  answers: [ok("The document.", { "application/json": null })],
  handle(context, endpoints) {
    const gateway = context.get("gateway");
    const text = madeOnce(gateway, "openapi", () => JSON.stringify(makeOpenApi(endpoints, gateway.config.baseUrl)));
    return sendConstant(context, text, { ...cached, "content-type": "application/json" });
  },
});
