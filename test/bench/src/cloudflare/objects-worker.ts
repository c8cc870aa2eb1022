import { DurableObject } from "cloudflare:workers";
import type { DurableObjectNamespace, DurableObjectState } from "@cloudflare/workers-types";

/**
 * The least that a durable gateway can do on objects, with no rule at all: a row in the account's and one in the
 * ceiling's before the request goes on, and the account's again before its answer does. What is faster keeps less.
 */
export class PartitionObject extends DurableObject<Bindings> {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS hold (id TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID");
  }

  async write(id: string, state: string): Promise<void> {
    this.ctx.storage.sql.exec(
      "INSERT INTO hold VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET state = ?",
      id,
      state,
      state,
    );
  }
}

/** Only to have the shape of ours. */
export class ChainObject extends DurableObject<Bindings> {}

interface Bindings {
  readonly PARTITION: DurableObjectNamespace<PartitionObject & { __DURABLE_OBJECT_BRAND: never }>;
  readonly UPSTREAM: string;
}

export default {
  async fetch(request: Request, { PARTITION, UPSTREAM }: Bindings): Promise<Response> {
    const account = PARTITION.get(PARTITION.idFromName(request.headers.get("authorization") ?? "nobody"));
    const id = crypto.randomUUID();
    await account.write(id, "open");
    await PARTITION.get(PARTITION.idFromName("ceiling")).write(id, "open");
    const response = await fetch(new Request(UPSTREAM + new URL(request.url).pathname, request));
    await account.write(id, "settled");
    return response;
  },
};
