import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startDevnet } from "../devnet.ts";
import { oneLine } from "../devnet-error.ts";
import { beginWithDeployment, keepDeployment } from "./kept-deployment.ts";
import { anyPorts } from "./launch.ts";

/** The devnet of a test run, in the folder TEST_DEVNET. It stops when its stdin ends, as it does with the runner. */
const folder = process.env.TEST_DEVNET ?? "";
const settings = { ...process.env, ...anyPorts, DEVNET_DIR: folder };
beginWithDeployment(folder);
try {
  const devnet = await startDevnet({ environment: settings, survivesKill: false });
  keepDeployment(folder);
  const ended = new Promise((resolve) => process.stdin.resume().once("end", resolve));
  const failure = await Promise.race([devnet.failure, ended]);
  if (failure instanceof Error) throw failure;
  await devnet.stop();
  // The runner may have been killed.
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
} catch (error) {
  writeFileSync(join(folder, "failed"), oneLine(error));
  process.exit(1);
}
