import type { Child } from "./child.ts";
import type { Processes } from "./processes.ts";

/** The processes that read the devnet's time once, when they start. */
export type Services = {
  /** Starts one, and remembers how. */
  start(begin: () => Promise<Child>): Promise<Child>;
  /** Ends all of them, does `work`, and starts them again, also if it fails. */
  during(work: () => Promise<void>): Promise<void>;
};

export function createServices(processes: Processes): Services {
  const services: { begin(): Promise<Child>; child: Child }[] = [];
  return {
    async start(begin) {
      const child = await begin();
      services.push({ begin, child });
      return child;
    },
    async during(work) {
      for (const { child } of services.toReversed()) await processes.end(child);
      try {
        await work();
      } finally {
        for (const service of services) service.child = await service.begin();
      }
    },
  };
}
