import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  gatewayEnvironment,
  gatewayUrl,
  launch,
  type ProviderProcess,
  start,
  startProvider,
} from "../chaos/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "threads-"));
let provider: ProviderProcess;
before(async () => {
  provider = await startProvider();
});
after(async () => {
  await provider.kill();
  rmSync(folder, { recursive: true });
});

let files = 0;

function environment(more: Record<string, string> = {}): Record<string, string> {
  files += 1;
  const databaseFile = join(folder, `gateway-${files}.sqlite`);
  return { ...gatewayEnvironment({ databaseFile, secret: "7a".repeat(32), provider }), GATEWAY_THREADS: "2", ...more };
}

/** Throws in each thread that serves HTTP, some time after its start. */
const DIE = `import { workerData } from "node:worker_threads";
if (workerData?.listening !== undefined) setTimeout(() => { throw new Error("a bug") }, 2500);`;

test("a thread that dies ends the process, with an alert: what it held is freed by the next start", async () => {
  const nodeOptions = `--import=data:text/javascript,${encodeURIComponent(DIE)}`;
  const gateway = launch({ script: "../main.ts", env: environment({ NODE_OPTIONS: nodeOptions }) });
  const { code } = await gateway.ended;
  assert.equal(code, 1);
  assert.match(gateway.stderr(), /"level":"alert","event":"thread_died","error":"Error: a bug"/);
});

test("a port that threads of another gateway share is taken", async () => {
  const first = await start({ script: "../main.ts", env: environment() });
  try {
    const { port } = new URL(gatewayUrl(first.ready));
    const second = launch({ script: "../main.ts", env: environment({ PORT: port }) });
    const { code } = await second.ended;
    assert.equal(code, 1);
    assert.match(second.stderr(), new RegExp(`Port ${port} is in use: set another PORT, or stop what uses it.`));
  } finally {
    await first.kill();
  }
});

test("threads that cannot start end the process with the reason in one line", async () => {
  const env = environment({ PRIMARY_RPC_URL: "http://127.0.0.1:9", HOST: "203.0.113.7" });
  const gateway = launch({ script: "../main.ts", env });
  const ended = await Promise.race([gateway.ended, sleep(30_000)]);
  await gateway.kill();
  assert.equal(ended?.code, 1);
  assert.match(gateway.stderr(), /EADDRNOTAVAIL/);
});
