/** A catalogue, fetched or stored, cannot be read. */
export class CatalogueError extends Error {
  override name = "CatalogueError";
}
