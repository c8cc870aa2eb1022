import { deepEqual, equal } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import type { Deployment } from "./deployment.ts";
import { openFolder } from "./folder.ts";
import { restoreDeployment, saveDeployment, stateFile } from "./saved.ts";
import { loadSecrets } from "./secrets.ts";
import { temporaryFolder } from "./testing/launch.ts";
import { LOCAL_CHAIN_NAMES } from "./third-parties/local-chains.ts";

test("saved chains are begun with if they are whole, and of the same code, ids and gateway secret", () => {
  const { path, remove } = temporaryFolder();
  const folder = openFolder(path);
  const chainIds = [1, 2, 3];
  const deployment = { primary: { chainId: 1 } } as unknown as Deployment;
  for (const name of LOCAL_CHAIN_NAMES) folder.writeJson(stateFile(name), { of: name });
  saveDeployment(folder, deployment, chainIds);
  const secrets = loadSecrets(folder);
  folder.remove(...LOCAL_CHAIN_NAMES.map(stateFile));

  equal(restoreDeployment(folder, [1, 2, 4]), undefined);
  equal(folder.has("primary.json"), false);
  deepEqual(restoreDeployment(folder, chainIds), deployment);
  deepEqual(folder.readJson("secondary2.json"), { of: "secondary2" });

  const saved = folder.readJson("saved.json") as object;
  folder.writeJson("saved.json", { ...saved, key: "of other code" });
  equal(restoreDeployment(folder, chainIds), undefined);
  folder.writeJson("saved.json", saved);
  folder.writeJson("secrets.json", { ...secrets, gatewaySecret: "another" });
  equal(restoreDeployment(folder, chainIds), undefined);
  folder.remove("secrets.json");
  deepEqual(restoreDeployment(folder, chainIds), deployment, "new secrets keep the gateway's");
  equal(loadSecrets(folder).gatewaySecret, secrets.gatewaySecret);
  writeFileSync(folder.file("saved-secondary1.json"), "{}");
  equal(restoreDeployment(folder, chainIds), undefined);
  folder.remove("saved-secondary1.json");
  equal(restoreDeployment(folder, chainIds), undefined);
  folder.release();
  remove();
});
