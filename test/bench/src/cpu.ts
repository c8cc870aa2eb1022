import { readdir, readFile } from "node:fs/promises";

/** Linux counts processor time in ticks of a hundredth of a second for every process that reads it. */
const msPerTick = 10;

/**
 * Processor milliseconds that these processes and their children have used so far, user and system; undefined where
 * there is no /proc. Beside requests per second because a neighbour on the machine disturbs it far less.
 */
export async function cpuMs(roots: readonly number[]): Promise<number | undefined> {
  let sum = 0;
  for (const pid of await withDescendants(roots)) {
    try {
      sum += parseCpuTicks(await readFile(`/proc/${pid}/stat`, "latin1")) * msPerTick;
    } catch {
      return undefined;
    }
  }
  return sum;
}

/** A command's name may hold spaces and parentheses: fields are counted from the last one. */
export function parseCpuTicks(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const user = Number(fields[11]);
  const system = Number(fields[12]);
  if (!Number.isInteger(user) || !Number.isInteger(system)) throw new Error("not a /proc stat line");
  return user + system;
}

export async function withDescendants(roots: readonly number[]): Promise<number[]> {
  const found = [...roots];
  for (const pid of found) {
    for (const thread of await threads(pid)) {
      const children = await readFile(`/proc/${pid}/task/${thread}/children`, "latin1").catch(() => "");
      found.push(...children.split(" ").filter(Boolean).map(Number));
    }
  }
  return found;
}

function threads(pid: number): Promise<string[]> {
  return readdir(`/proc/${pid}/task`).catch(() => []);
}
