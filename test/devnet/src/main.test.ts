import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { inDeepRun } from "@inference/protocol/testing/deep";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { startProviderSimulator } from "@inference/provider-simulator/server";
import { startDevnet } from "./devnet.ts";
import { anyPorts, launch, processesOf, stopLaunched, temporaryFolder } from "./testing/launch.ts";

/** The starts of a devnet that fail. `main.deep.test.ts` has those that do not. */
after(stopLaunched);

test("a port in use is one line that names the setting", async () => {
  const folder = temporaryFolder();
  const { port, close } = await listenLocally(createServer());
  const started = launch(folder.path, { CHAIN_PORT: String(port) });
  equal(await started.exited, 1);
  const line = `Port ${port} is in use: stop what uses it, or set CHAIN_PORT to another (0: any free one).\n`;
  deepEqual(started.output, { stdout: "", stderr: line });
  await close();
  folder.remove();
});

test("a damaged chain is told with its file and what to do, and leaves no process", inDeepRun, async () => {
  const folder = temporaryFolder();
  for (const name of ["primary", "secondary1", "secondary2"]) {
    writeFileSync(join(folder.path, `${name}.json`), '{"block":');
  }
  writeFileSync(join(folder.path, "deployment.json"), '{"primary":{"chainId":31337,"block":1,"contracts":{}}}');
  const damaged = /(primary|secondary[12])\.json is damaged: begin anew with npm start -- --fresh\.$/;
  await rejects(startDevnet({ environment: { ...process.env, ...anyPorts, DEVNET_DIR: folder.path } }), damaged);
  deepEqual(processesOf(folder.path), []);
  folder.remove();
});

test(
  "a provider that refuses the user's key is reported before there is a chain, and leaves no process",
  inDeepRun,
  async () => {
    const folder = temporaryFolder();
    const provider = await startProviderSimulator({ port: 0, masterKey: "the-key", adminKey: "another" });
    const progress: string[] = [];
    const own = { UPSTREAM_BASE_URL: provider.url, UPSTREAM_API_KEY: "wrong" };
    const environment = { ...process.env, ...anyPorts, ...own, DEVNET_DIR: folder.path };
    const starting = startDevnet({ environment, onProgress: (line) => progress.push(line) });
    await rejects(starting, { name: "DevnetError", message: /UPSTREAM_API_KEY: .* does not accept it \(401\)/ });
    ok(!progress.join().includes("local chains"), progress.join());
    deepEqual(processesOf(folder.path), []);
    await provider.close();
    folder.remove();
  },
);
