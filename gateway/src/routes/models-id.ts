import { fail } from "@inference/protocol/errors";
import { modelAnswer } from "@inference/protocol/wire/answers";
import { describeModel } from "../catalogue/model-object.ts";
import { json, ok } from "../docs/operation.ts";
import { checkPresentedCredential } from "../http/identify.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { authenticatedErrors } from "./endpoint-errors.ts";

/** Characters of an id that an error message shows. */
const MAX_SHOWN = 100;

export const getModel = endpoint({
  prefixes: apiPrefixes,
  path: "/models/{id}",
  takesRest: true,
  id: "getModel",
  group: "Inference",
  title: "One model",
  pathParameters: { id: "The model's id; it may have slashes in it." },
  answers: [ok("The model.", json("ModelAnswer", modelAnswer))],
  errors: ["model_not_found", "upstream_unavailable", ...authenticatedErrors],
  async handle(context) {
    await checkPresentedCredential(context);
    const id = context.req.param("id") ?? "";
    const { config, prices } = context.var.gateway;
    const model = describeModel(config.upstream.aliases, prices.current().models, id);
    if (model === undefined) {
      const shown = id.slice(0, MAX_SHOWN);
      return fail("model_not_found", `There is no model \`${shown}\` here: see GET /api/v1/models.`);
    }
    return context.json(model);
  },
});
