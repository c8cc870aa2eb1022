import { request } from "node:http";
import { createInterface } from "node:readline";

// Asks an origin's /healthz again and again, in a process of its own: from one line of its input to the next. Then it
// prints the longest wait in ms.

const [, , origin = ""] = process.argv;
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
    const askedAt = performance.now();
    await new Promise((resolve, reject) => {
      request(`${origin}/healthz`, (response) => response.resume().once("end", resolve))
        .once("error", reject)
        .end();
    });
    longestMs = Math.max(longestMs, performance.now() - askedAt);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  process.stdout.write(`${longestMs}\n`);
}
