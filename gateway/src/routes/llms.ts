import { makeLlmsText } from "../docs/llms-text.ts";
import { ok } from "../docs/operation.ts";
import { type Snippet, snippets } from "../docs/snippets.ts";
import { walletSteps } from "../docs/wallet-program.ts";
import { cached, exampleModel, madeOnce } from "./documents.ts";
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
    const { baseUrl, chainIds } = gateway.config;
    const at = { baseUrl, model: exampleModel(gateway) };
    const curl = snippets(at).find(({ id }) => id === "curl") as Snippet;
    const text = madeOnce(gateway, `llms of ${at.model}`, () =>
      makeLlmsText(endpoints, { ...at, chainIds, curl, steps: walletSteps(at) }),
    );
    return context.text(text, 200, cached);
  },
});
