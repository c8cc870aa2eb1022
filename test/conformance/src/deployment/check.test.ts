import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { checkDeployment } from "./check.ts";

/** The check without a gateway. The hosts' tests run it against one. */
const privateKey = `0x${"5".padStart(64, "0")}` as const;
const say = () => undefined;

const listen = (answer: string) => listenLocally(createServer((_, response) => response.end(answer)));

test("a gateway that cannot be reached is named, with the reason", async () => {
  const { url, close } = await listen("");
  await close();
  await assert.rejects(checkDeployment({ url, privateKey, say }), {
    message: new RegExp(`^${url}/healthz cannot be reached: .*ECONNREFUSED`),
  });
});

test("a server that is no gateway is named", async () => {
  for (const answer of ["<html>", "null", '{"status":"fine"}']) {
    const { url, close } = await listen(answer);
    const said = { message: `${url}/healthz does not answer as a gateway does: 200 ${answer}` };
    await assert.rejects(checkDeployment({ url, privateKey, say }), said);
    await close();
  }
});

test("a wrong command line is explained", async () => {
  const program = fileURLToPath(new URL("main.ts", import.meta.url));
  const run = async (key: string, ...args: string[]): Promise<string> => {
    const child = spawn(process.execPath, [program, ...args], { env: { ...process.env, CHECK_PRIVATE_KEY: key } });
    let said = "";
    child.stderr.on("data", (data: Buffer) => (said += data.toString()));
    assert.deepEqual(await once(child, "close"), [1, null], said);
    return said;
  };
  const said = await Promise.all([run("0x12", "http://x.example"), run(privateKey), run(privateKey, "--deplpy", "x")]);
  assert.match(said[0] ?? "", /^CHECK_PRIVATE_KEY must be .*\n\nCHECK_PRIVATE_KEY=0x/);
  assert.match(said[1] ?? "", /^The gateway's URL is missing.*\n\nCHECK_PRIVATE_KEY=0x/);
  assert.match(said[2] ?? "", /^Unknown option '--deplpy'.*\n\nCHECK_PRIVATE_KEY=0x/);
});
