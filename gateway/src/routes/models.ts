import { fail } from "@inference/protocol/errors";
import type { Model } from "@inference/protocol/model";
import { modelAnswer, modelsAnswer } from "@inference/protocol/wire/answers";
import { describeModel } from "../catalogue/model-object.ts";
import { json, ok } from "../docs/operation.ts";
import type { Gateway } from "../gateway.ts";
import { checkPresentedCredential } from "../http/identify.ts";
import { queryOf } from "../http/query.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { authenticatedErrors } from "./endpoint-errors.ts";

/** Lists the models that some endpoint can price and serve, with the operator's aliases last. */
export const listModels = endpoint({
  prefixes: apiPrefixes,
  path: "/models",
  id: "listModels",
  group: "Inference",
  title: "Every model and its price",
  about:
    "Exactly the models that can be served. Anyone may ask; a key that is sent must be good. A model that costs " +
    "nothing needs no balance.",
  answers: [ok("The models.", json("ModelsAnswer", modelsAnswer))],
  errors: ["upstream_unavailable", ...authenticatedErrors],
  async handle(context) {
    await checkPresentedCredential(context);
    const { gateway } = context.var;
    const { models } = gateway.prices.current();
    const text = lists.get(models) ?? writeList(gateway, models);
    // Codex has a list of its own kind. An empty one leaves its presets as they are.
    const isCodex = queryOf(context).client_version !== undefined;
    const answer = isCodex ? `{"models":[],${text.slice(1)}` : text;
    return context.body(answer, 200, { "content-type": "application/json" });
  },
});

/** The list is written once for each read of the catalogue. */
const lists = new WeakMap<ReadonlyMap<string, Model>, string>();

function writeList({ config }: Gateway, models: ReadonlyMap<string, Model>): string {
  const { aliases } = config.upstream;
  const written: string[] = [];
  const ids: string[] = [];
  for (const id of [...[...models.keys()].filter((id) => !Object.hasOwn(aliases, id)), ...Object.keys(aliases)]) {
    const model = describeModel(aliases, models, id);
    if (model === undefined) continue;
    written.push(JSON.stringify(model));
    ids.push(id);
  }
  const [first = null, last = null] = [ids[0], ids.at(-1)];
  const page = JSON.stringify({ object: "list", has_more: false, first_id: first, last_id: last });
  const text = `${page.slice(0, -1)},"data":[${written.join(",")}]}`;
  lists.set(models, text);
  return text;
}

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
