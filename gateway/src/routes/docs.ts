import { ok } from "../docs/operation.ts";
import { makePage } from "../docs/page.ts";
import { snippets } from "../docs/snippets.ts";
import { walletSteps } from "../docs/wallet-program.ts";
import { cached, exampleModel, madeOnce, openApiOf } from "./documents.ts";
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
    const { baseUrl, chainIds } = gateway.config;
    const at = { baseUrl, model: exampleModel(gateway) };
    const page = madeOnce(gateway, `docs of ${at.model}`, () =>
      makePage(openApiOf(gateway, endpoints), endpoints, {
        baseUrl,
        chainIds,
        snippets: snippets(at),
        steps: walletSteps(at),
      }),
    );
    return context.html(page, 200, {
      ...cached,
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      "x-content-type-options": "nosniff",
    });
  },
});
