import { readApiKey } from "../../identity/api-keys.ts";
import type { GatewayContext } from "../context.ts";
import { requireApiKey } from "../identify.ts";
import { toKeyObject } from "../key-object.ts";

/** GET /api/v1/key: what the key that is sent may spend, and has spent. */
export async function getKey(context: GatewayContext): Promise<Response> {
  const { gateway, at } = context.var;
  const { partition, keyId } = await requireApiKey(context);
  const view = await readApiKey(gateway, partition, keyId, at);
  return context.json({ data: { ...toKeyObject(view), is_free_tier: false, is_management_key: false } });
}
