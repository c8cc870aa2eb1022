import { ok } from "../docs/operation.ts";
import { makeSkill } from "../docs/skill-text.ts";
import { sendConstant } from "../http/constant-text.ts";
import { cached, documented, madeOnce } from "./documents.ts";
import { endpoint } from "./endpoint.ts";

export const getSkill = endpoint({
  path: "/skill.md",
  id: "getSkill",
  group: "Documentation",
  title: "From a wallet to an answer, as a skill for agents",
  answers: [ok("The skill.", { "text/markdown": null })],
  handle(context) {
    const gateway = context.get("gateway");
    const at = documented(gateway);
    const text = madeOnce(gateway, `skill of ${JSON.stringify(at)}`, () => makeSkill(at));
    return sendConstant(context, text, { ...cached, "content-type": "text/markdown; charset=UTF-8" });
  },
});
