import type { ExecutionContext } from "@cloudflare/workers-types";
import type { Bindings } from "../bindings.ts";
import worker, { PartitionObject as ObjectUnderTest } from "./worker-under-test.ts";

export { ChainObject } from "../chain-object.ts";

/** A request's trips. A trip between two objects is short: they are in the same region. */
export type Trips = {
  /** From the Worker to objects, one after the other, until the answer began, and until its first content. */
  began: number;
  content: number;
  /** The commands that the Worker sent by then, in order. */
  sent: string[];
  betweenObjects: number;
};

/** The time, in trips from the Worker to objects: only their replies let it go on. */
let now = 0;
let trips: Trips = nothing();

function nothing(): Trips {
  return { began: 0, content: 0, sent: [], betweenObjects: 0 };
}

type Calls = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** A namespace whose objects' calls are each passed on by `around`. */
function called<T>(namespace: T, around: (what: string, call: () => Promise<unknown>) => Promise<unknown>): T {
  const real = namespace as unknown as { getByName(...args: unknown[]): Calls; idFromName(name: string): unknown };
  return {
    idFromName: (name: string) => real.idFromName(name),
    getByName(...args: unknown[]) {
      const object = real.getByName(...args);
      const pass = (method: string) =>
        function passed(...of: unknown[]) {
          const { type = method } = (of[1] ?? {}) as { type?: string };
          return around(type, async () => object[method]?.(...of));
        };
      return Object.fromEntries(["execute", "executeAll", "read", "look"].map((name) => [name, pass(name)]));
    },
  } as T;
}

export class PartitionObject extends ObjectUnderTest {
  constructor(...[ctx, env]: ConstructorParameters<typeof ObjectUnderTest>) {
    const PARTITION = called(env.PARTITION, (_, call) => {
      trips.betweenObjects += 1;
      return call();
    });
    super(ctx, { ...env, PARTITION });
  }
}

async function trip(what: string, call: () => Promise<unknown>): Promise<unknown> {
  const left = now;
  trips.sent.push(what);
  try {
    return await call();
  } finally {
    now = Math.max(now, left + 1);
  }
}

/** The real Worker. `/__trips` tells the trips of the last request: there is one at a time. */
export default {
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/__trips") return Response.json(trips);
    if (pathname.startsWith("/__")) return worker.fetch(request, bindings, event);
    now = 0;
    trips = nothing();
    const counted = trips;
    const distant = { ...bindings, PARTITION: called(bindings.PARTITION, trip), CHAIN: called(bindings.CHAIN, trip) };
    const response = await worker.fetch(request, distant, event);
    counted.began = now;
    const note = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, out) {
        if (counted.content === 0) Object.assign(counted, { content: now, sent: [...counted.sent] });
        out.enqueue(chunk);
      },
    });
    return new Response(response.body?.pipeThrough(note) ?? null, response);
  },
};
