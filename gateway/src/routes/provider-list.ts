import { fail, GatewayError } from "@inference/protocol/errors";
import type * as z from "zod";
import type { GatewayContext } from "../http/context.ts";

/** Reads a free list of the provider. Fields that the shape does not name are dropped. */
export async function readProviderList<T extends z.ZodType>(
  context: GatewayContext,
  path: string,
  shape: T,
): Promise<z.output<T>> {
  const list =
    (await context.var.gateway.catalogueReads.read(path)) ?? fail("not_found", "The provider has no such list.");
  const { success, data } = shape.safeParse(list);
  if (success) return data;
  throw new GatewayError({
    code: "upstream_error",
    message: "The provider's list has an unknown format.",
  });
}
