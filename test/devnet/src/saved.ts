import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import type { Deployment } from "./deployment.ts";
import type { FileName, Folder } from "./folder.ts";
import { loadSecrets } from "./secrets.ts";
import { LOCAL_CHAIN_NAMES, type LocalChainName } from "./third-parties/local-chains.ts";

/** The chains right after a deployment, kept so that a fresh start need not deploy again. */
type Saved = {
  /** A digest of the contracts and the programs that deploy them. */
  key: string;
  deployment: Deployment;
  /** The settlement has the receipt key of a gateway with this secret. */
  gatewaySecret: string;
  /** The digest of each chain's file, to detect damage. */
  digests: Record<LocalChainName, string>;
};

/** Keeps the chains as their files are now. */
export function saveDeployment(folder: Folder, deployment: Deployment, chainIds: readonly number[]): void {
  folder.remove("saved.json");
  const digests = LOCAL_CHAIN_NAMES.map((name) => {
    copyFileSync(folder.file(stateFile(name)), folder.file(savedFile(name)));
    return [name, digestOf(folder, name)];
  });
  const saved: Saved = {
    ...{ key: deploymentKey(chainIds), deployment, gatewaySecret: loadSecrets(folder).gatewaySecret },
    digests: Object.fromEntries(digests),
  };
  folder.writeJson("saved.json", saved);
}

/** Puts the kept chains in place and returns what stands on them; undefined if none fit. */
export function restoreDeployment(folder: Folder, chainIds: readonly number[]): Deployment | undefined {
  const saved = folder.readJson("saved.json") as Saved | undefined;
  if (saved?.key !== deploymentKey(chainIds)) return undefined;
  if (saved.gatewaySecret !== loadSecrets(folder).gatewaySecret) return undefined;
  if (LOCAL_CHAIN_NAMES.some((name) => digestOf(folder, name) !== saved.digests[name])) return undefined;
  for (const name of LOCAL_CHAIN_NAMES) copyFileSync(folder.file(savedFile(name)), folder.file(stateFile(name)));
  return saved.deployment;
}

/** Where a chain's state is kept. */
export function stateFile(name: LocalChainName): FileName {
  return `${name}.json`;
}

function savedFile(name: LocalChainName): FileName {
  return `saved-${name}.json`;
}

function digestOf(folder: Folder, name: LocalChainName): string | undefined {
  if (!folder.has(savedFile(name))) return undefined;
  return createHash("sha256")
    .update(readFileSync(folder.file(savedFile(name))))
    .digest("hex");
}

/** A digest of the bytecode of our contracts, and of the programs that deploy them. */
export function deploymentKey(chainIds: readonly number[]): string {
  const hash = createHash("sha256").update(JSON.stringify(chainIds));
  for (const folder of ["../../../contracts/generated/", "../../../contracts/script/", "./", "./third-parties/"]) {
    const url = new URL(folder, import.meta.url);
    for (const name of readdirSync(url).sort()) {
      if (name.endsWith(".ts") && !name.endsWith(".test.ts"))
        hash.update(name).update(readFileSync(new URL(name, url)));
    }
  }
  return hash.digest("hex");
}
