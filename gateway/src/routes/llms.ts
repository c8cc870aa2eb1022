import { makeLlmsText } from "../docs/llms-text.ts";
import { ok } from "../docs/operation.ts";
import { sendConstant } from "../http/constant-text.ts";
import { cached, documented, madeOnce } from "./documents.ts";
import { endpoint } from "./endpoint.ts";

export const getLlmsText = endpoint({
  path: "/llms.txt",
  id: "getLlmsText",
  group: "Documentation",
  title: "This API in short, for programs that write programs",
  answers: [ok("The text.", { "text/plain": null })],
  handle(context, endpoints) {
    const gateway = context.get("gateway");
    const at = documented(gateway);
    const text = madeOnce(gateway, `llms of ${JSON.stringify(at)}`, () => makeLlmsText(endpoints, at));
    return sendConstant(context, text, { ...cached, "content-type": "text/plain; charset=UTF-8" });
  },
});
