import type { Model } from "@inference/protocol/model";

/** The operator's names for models: for each alias the ids of its models, the first choice first. */
export type Aliases = Readonly<Record<string, readonly string[]>>;

/**
 * The models that an alias stands for now. Only chat has fallbacks. An embedding of another model, for example, does
 * not compare with those that a client has.
 */
export function modelsOfAlias(ids: readonly string[], models: ReadonlyMap<string, Model>): Model[] {
  return ids.flatMap((id, index) => {
    const model = models.get(id);
    return model === undefined || (index > 0 && model.price.kind !== "text") ? [] : model;
  });
}
