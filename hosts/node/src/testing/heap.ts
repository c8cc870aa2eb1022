import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** What is in use on the heap and, with `outside`, in buffers beside it: without what nobody refers to any more. */
export function bytesInUse({ outside = false } = {}): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return outside ? heapUsed + external : heapUsed;
}
