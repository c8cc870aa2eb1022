/** A catalogue, or what was stored of one, cannot be read as one. */
export class CatalogueError extends Error {
  override name = "CatalogueError";
}
