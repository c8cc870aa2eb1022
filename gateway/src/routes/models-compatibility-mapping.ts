import { modelNamesAnswer } from "@inference/protocol/wire/answers";
import { catalogueQuery } from "@inference/protocol/wire/catalogue";
import { json, ok } from "../docs/operation.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { providerListErrors } from "./endpoint-errors.ts";
import { answerModelNames } from "./model-names.ts";

export const getModelCompatibility = endpoint({
  prefixes: apiPrefixes,
  path: "/models/compatibility_mapping",
  id: "getModelCompatibility",
  group: "Inference",
  title: "Models by the names of others'",
  about: "As the provider has it, for models that can be served. Use the id: such a name is no name of a model here.",
  query: catalogueQuery,
  answers: [ok("A model for each name.", json("ModelNamesAnswer", modelNamesAnswer))],
  errors: providerListErrors,
  handle: (context) => answerModelNames(context, "/models/compatibility_mapping"),
});
