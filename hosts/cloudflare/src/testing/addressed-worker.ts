import type { ExecutionContext } from "@cloudflare/workers-types";
import type { Bindings } from "../bindings.ts";
import worker from "./worker-under-test.ts";

export { ChainObject } from "../chain-object.ts";
export { PartitionObject } from "./worker-under-test.ts";

const ADDRESSES = 8;
let requests = 0;

/**
 * Cloudflare names each client's address, and local workerd none, so that all would be one client, who may hold 256 KiB
 * without a credential: here they are several.
 */
export default {
  fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    const headers = new Headers(request.headers);
    requests += 1;
    headers.set("cf-connecting-ip", `192.0.2.${requests % ADDRESSES}`);
    return worker.fetch(new Request(request, { headers }), bindings, event);
  },
};
