import type { DurableObjectNamespace } from "@cloudflare/workers-types";
import type { Bindings } from "../bindings.ts";
import type { PartitionObject } from "../partition-object.ts";

/** With so few slots each version writes the tables all the time, also with what the other one left in the log. */
export const briefLog = { slots: 2, characters: 100_000 };

type Namespace = Bindings["PARTITION"];
type Calls = Pick<PartitionObject, "execute" | "executeAll" | "read">;

/**
 * During a rollout each object is of the version that it was given. Here each namespace is: the ceiling is in `LATTER`,
 * and so are the accounts whose address is odd; all else is in `FORMER`.
 */
export function routed(bindings: Bindings, around: (object: Calls) => Calls = (object) => object): Bindings {
  const { FORMER, LATTER } = bindings as unknown as { FORMER: Namespace; LATTER: Namespace };
  const namespaceOf = (name: string): Namespace =>
    name === "ceiling" || /^account:.*[13579bdf]$/.test(name) ? LATTER : FORMER;
  const partition: Pick<DurableObjectNamespace, "idFromName"> & { getByName(name: string): Calls } = {
    idFromName: (name) => namespaceOf(name).idFromName(name),
    getByName(name) {
      const object = namespaceOf(name).getByName(name) as unknown as Calls;
      const calls: Partial<Calls> = around(object);
      return new Proxy(object, { get: (_, method) => calls[method as keyof Calls] ?? object[method as keyof Calls] });
    },
  };
  return { ...bindings, PARTITION: partition as unknown as Namespace };
}
