import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** The heap in use after a collection; with `outside`, buffers beside the heap too. */
export function bytesInUse({ outside = false } = {}): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return outside ? heapUsed + external : heapUsed;
}
