import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { startStack } from "@inference/host-node/testing/stack";

/**
 * Counts the files, functions and calls of ours that one small paid request runs on the Node host, after three others
 * have warmed it up. With `--list` it also names each function.
 */
const root = fileURLToPath(new URL("../../..", import.meta.url));
const rooms = /^(gateway|ledger|protocol|hosts|chain|settler)\//;
const isSetUp = /\/(test|testing)\//;

const bodies = {
  "small chat": { model: "sim-small", max_tokens: 4, messages: [{ role: "user", content: "Say hello." }] },
  "small stream": { model: "sim-small", max_tokens: 4, stream: true, messages: [{ role: "user", content: "Hello." }] },
};

const stack = await startStack();
const { key } = await stack.account(10_000_000_000);

async function ask(body: object): Promise<void> {
  const response = await stack.call("/v1/chat/completions", { key, body });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  await response.text();
  // The settlement of a stream follows its last bytes.
  await new Promise((resolve) => setTimeout(resolve, 200));
}

const session = new Session();
session.connect();
await session.post("Profiler.enable");
for (const [name, body] of Object.entries(bodies)) {
  for (let warm = 0; warm < 3; warm++) await ask(body);
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Profiler.takePreciseCoverage");
  await ask(body);
  const { result } = await session.post("Profiler.takePreciseCoverage");
  await session.post("Profiler.stopPreciseCoverage");
  const ran = result.flatMap(({ url, functions }) => {
    const file = url.startsWith("file:") ? relative(root, fileURLToPath(url)) : "";
    if (!rooms.test(file) || isSetUp.test(file)) return [];
    return functions.map(({ functionName, ranges }) => ({ file, functionName, count: ranges[0]?.count ?? 0 }));
  });
  const called = ran.filter(({ count }) => count > 0);
  const files = new Set(called.map(({ file }) => file));
  const calls = called.reduce((sum, { count }) => sum + count, 0);
  console.log(`${name}: ${files.size} files, ${called.length} functions, ${calls} calls`);
  if (process.argv.includes("--list")) {
    for (const { file, functionName, count } of called)
      console.log(`  ${file} ${functionName || "(closure)"} ${count}`);
  }
}
await stack.stop();
