/**
 * The models of a key's terms: exact ids, or prefixes that end with `*`, like `llama-*`. An id or prefix has 1 to 100
 * letters, digits and `._:/-`.
 */
export const MODEL_PATTERN = /^[\w.:/-]{1,100}\*?$/;

/** Whether a pattern allows a model, or everything that another pattern allows. */
export function allowsModel(pattern: string, idOrPattern: string): boolean {
  return pattern.endsWith("*") ? idOrPattern.startsWith(pattern.slice(0, -1)) : idOrPattern === pattern;
}
