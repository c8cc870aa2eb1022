import { makeOpenApi } from "../docs/openapi.ts";
import { ok } from "../docs/operation.ts";
import { sendConstant } from "../http/constant-text.ts";
import { cached, madeOnce } from "./documents.ts";
import { endpoint } from "./endpoint.ts";
import { commonErrors } from "./endpoint-errors.ts";

export const getOpenApi = endpoint({
  method: "GET",
  path: "/openapi.json",
  id: "getOpenApi",
  group: "Documentation",
  title: "This API as OpenAPI 3.1",
  credentials: [],
  answers: [ok("The document.", { "application/json": null })],
  errors: commonErrors,
  handle(context, endpoints) {
    const gateway = context.get("gateway");
    const text = madeOnce(gateway, "openapi", () => JSON.stringify(makeOpenApi(endpoints, gateway.config.baseUrl)));
    return sendConstant(context, text, { ...cached, "content-type": "application/json" });
  },
});
