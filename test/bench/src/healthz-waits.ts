import { readFileSync } from "node:fs";
import { request } from "node:http";
import { createInterface } from "node:readline";

// Asks a gateway's /healthz again and again, in a process of its own: from one line of its input to the next. Then it
// prints the longest wait, in ms of processor time of the gateway's main thread: other processes do not count.

const [, , origin = "", pid = ""] = process.argv;
let isAsking = false;
let longestMs = 0;

createInterface({ input: process.stdin }).on("line", () => {
  isAsking = !isAsking;
  if (isAsking) void askOn();
});
process.stdin.on("end", () => process.exit());

async function askOn(): Promise<void> {
  longestMs = 0;
  while (isAsking) {
    const askedAt = cpuMs();
    await new Promise((resolve, reject) => {
      request(`${origin}/healthz`, (response) => response.resume().once("end", resolve))
        .once("error", reject)
        .end();
    });
    longestMs = Math.max(longestMs, cpuMs() - askedAt);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  process.stdout.write(`${longestMs}\n`);
}

/** The first number of Linux's `schedstat` is a thread's time on a processor, in ns. */
function cpuMs(): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "latin1").split(" ")[0]) / 1e6;
}
