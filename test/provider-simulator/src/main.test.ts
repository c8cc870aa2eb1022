import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ask, chatBody } from "./client.ts";

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));

function run(env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [MAIN], { env: { ...process.env, ...env }, stdio: "pipe" });
}

async function firstLine(stream: NodeJS.ReadableStream | null): Promise<string> {
  if (stream === null) throw new Error("no stream");
  const [data]: unknown[] = await once(stream, "data");
  return String(data);
}

test("the process says where it is in one line, reads the environment, and ends cleanly on a signal", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const child = run({ PORT: "0", MASTER_KEY: "from-env", ABORT_BILLING: "none", ERROR_BUDGET: "off" });
    const line = await firstLine(child.stdout);
    const url = /^provider simulator ready at (http:\/\/127\.0\.0\.1:\d+\/api\/v1)\n$/.exec(line)?.[1];
    assert.ok(url !== undefined, line);
    const heard = await ask(`${url}/chat/completions`, { body: chatBody("sim-small", "hi"), key: "from-env" });
    assert.equal(heard.status, 200);
    const { text } = await ask(`${url.replace("/api/v1", "/__simulator")}/config`);
    assert.match(text, /"abortBilling":"none".*"answerText":"english".*"errorBudget":null/);
    const hanging = ask(`${url}/chat/completions`, {
      body: chatBody("fault-hang-before-headers", "hi"),
      key: "from-env",
    });
    await new Promise((resolve) => setTimeout(resolve, 30));
    child.kill(signal);
    assert.deepEqual(await once(child, "exit"), [0, null]);
    assert.equal((await hanging).status, 0);
  }
});

test("a wrong setting ends the start with one line", async () => {
  for (const env of [{ DELAY_MS: "soon" }, { ABORT_BILLING: "half" }, { PORT: "1.5" }]) {
    const child = run(env);
    assert.match(await firstLine(child.stderr), /^provider simulator cannot start: .*\n/);
    assert.deepEqual(await once(child, "exit"), [1, null]);
  }
});
