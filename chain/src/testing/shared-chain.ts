import { after, beforeEach } from "node:test";
import { startPrimaryChain } from "./primary-chain.ts";

/** One chain for all test files of this process. */
export const chain = await startPrimaryChain();

after(() => chain.stop());

/** At the top of a file: each of its tests begins with the chain's contracts, in final blocks, and no more. */
export function beginAnew(): void {
  beforeEach(async () => {
    await chain.reset();
    await chain.finalize();
  });
}
