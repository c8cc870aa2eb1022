import { makeLlmsText } from "../docs/llms-text.ts";
import { ok } from "../docs/operation.ts";
import { sendConstant } from "../http/constant-text.ts";
import { cached, documented, madeOnce } from "./documents.ts";
import { endpoint } from "./endpoint.ts";
import { commonErrors } from "./endpoint-errors.ts";

export const getLlmsText = endpoint({
  method: "GET",
  path: "/llms.txt",
  id: "getLlmsText",
  group: "Documentation",
  title: "This API in short, for programs that write programs",
  credentials: [],
  answers: [ok("The text.", { "text/plain": null })],
  errors: commonErrors,
  handle(context, endpoints) {
    const gateway = context.get("gateway");
    const at = documented(gateway);
    const text = madeOnce(gateway, `llms of ${JSON.stringify(at)}`, () => makeLlmsText(endpoints, at));
    return sendConstant(context, text, { ...cached, "content-type": "text/plain; charset=UTF-8" });
  },
});
