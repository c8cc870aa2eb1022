import { ok } from "../docs/operation.ts";
import { makePage } from "../docs/page.ts";
import { sendConstant } from "../http/constant-text.ts";
import { cached, documented, madeOnce } from "./documents.ts";
import { endpoint } from "./endpoint.ts";
import { commonErrors } from "./endpoint-errors.ts";

export const getDocs = endpoint({
  method: "GET",
  path: "/docs",
  id: "getDocs",
  group: "Documentation",
  title: "This API as a page",
  credentials: [],
  answers: [ok("The page.", { "text/html": null })],
  errors: commonErrors,
  handle(context, endpoints) {
    const gateway = context.get("gateway");
    const at = documented(gateway);
    const page = madeOnce(gateway, `docs of ${JSON.stringify(at)}`, () => makePage(endpoints, at));
    return sendConstant(context, page, {
      ...cached,
      "content-type": "text/html; charset=UTF-8",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      "x-content-type-options": "nosniff",
    });
  },
});
