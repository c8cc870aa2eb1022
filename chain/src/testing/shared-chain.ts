import { after, beforeEach } from "node:test";
import { startPrimaryChain } from "./primary-chain.ts";

/** One chain for all test files of this process. Each test begins with its contracts, in final blocks, and no more. */
export const chain = await startPrimaryChain();

beforeEach(async () => {
  await chain.reset();
  await chain.finalize();
});
after(() => chain.stop());
