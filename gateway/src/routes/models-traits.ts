import { modelNamesAnswer } from "@inference/protocol/wire/answers";
import { catalogueQuery } from "@inference/protocol/wire/catalogue";
import { json, ok } from "../docs/operation.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { providerListErrors } from "./endpoint-errors.ts";
import { answerModelNames } from "./model-names.ts";

export const getModelTraits = endpoint({
  prefixes: apiPrefixes,
  path: "/models/traits",
  id: "getModelTraits",
  group: "Inference",
  title: "Models by what they are good for",
  about: "As the provider has it, for models that can be served. Use the id: a trait is no name of a model here.",
  query: catalogueQuery,
  answers: [ok("A model for each trait.", json("ModelNamesAnswer", modelNamesAnswer))],
  errors: providerListErrors,
  handle: (context) => answerModelNames(context, "/models/traits"),
});
