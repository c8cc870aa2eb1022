import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";

/** How many times a process asked the kernel to put a file on the disk, while somebody was counting. */
export interface FsyncCount {
  readonly fsyncs: number;
  readonly by: "perf" | "strace";
}

export interface FsyncCounter {
  /** Stops counting; undefined if nothing here could count. */
  stop(): Promise<FsyncCount | undefined>;
}

/**
 * Counts fsync and fdatasync of all threads of a process. Nothing in /proc counts them, so it takes `perf` (the
 * kernel's own counters, at no cost worth naming) or else `strace` (stops the process at every system call, so that
 * its run is slower and its groups larger: the number is right, the times beside it are not). Both need permission to
 * trace.
 */
export async function countFsyncs(pid: number): Promise<FsyncCounter> {
  const perf = ["stat", "-x,", "-e", "syscalls:sys_enter_fsync,syscalls:sys_enter_fdatasync", "-p", String(pid)];
  if (works("perf", [...perf.slice(0, 4), "true"])) {
    const tool = attach("perf", perf);
    // perf does not say when it has attached.
    await new Promise((resolve) => setTimeout(resolve, 300));
    return { stop: async () => counted("perf", parsePerf(await detach(tool))) };
  }
  if (works("strace", ["-V"])) {
    const tool = attach("strace", ["-c", "-f", "-e", "trace=fsync,fdatasync", "-p", String(pid)]);
    if (await tool.attached) return { stop: async () => counted("strace", parseStrace(await detach(tool))) };
  }
  return { stop: async () => undefined };
}

/** Lines of `perf stat -x,`: the count is the first field, or a word in angle brackets. */
export function parsePerf(output: string): number | undefined {
  const counts = [...output.matchAll(/^(\d+),[^,]*,syscalls:sys_enter_f(?:data)?sync\b/gm)].map((match) =>
    Number(match[1]),
  );
  return counts.length === 0 ? undefined : counts.reduce((sum, count) => sum + count, 0);
}

/**
 * The table of `strace -c`: time share, seconds, microseconds a call, calls, perhaps errors, name. None is no table.
 */
export function parseStrace(output: string): number | undefined {
  if (!output.includes("detached")) return undefined;
  const rows = [...output.matchAll(/^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?f(?:data)?sync$/gm)];
  return rows.reduce((sum, row) => sum + Number(row[1]), 0);
}

function counted(by: FsyncCount["by"], fsyncs: number | undefined): FsyncCount | undefined {
  return fsyncs === undefined ? undefined : { fsyncs, by };
}

function works(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

interface Tool {
  readonly child: ChildProcess;
  readonly output: Promise<string>;
  /** True at its first line, false if it ended without one or said that it may not. */
  readonly attached: Promise<boolean>;
}

function attach(command: string, args: readonly string[]): Tool {
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  const lines: string[] = [];
  const first = Promise.withResolvers<boolean>();
  const all = Promise.withResolvers<string>();
  const reader = createInterface({ input: child.stderr });
  reader.on("line", (line) => {
    lines.push(line);
    first.resolve(line.includes("attached"));
  });
  reader.on("close", () => {
    first.resolve(false);
    all.resolve(lines.join("\n"));
  });
  return { child, output: all.promise, attached: first.promise };
}

function detach(tool: Tool): Promise<string> {
  tool.child.kill("SIGINT");
  return tool.output;
}
