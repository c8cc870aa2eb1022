import { randomBytes } from "node:crypto";
import type { Folder } from "./folder.ts";

/** Drawn once and kept: with another gateway secret every API key would be void. */
export type Secrets = {
  gatewaySecret: string;
  /** The gateway's key at the simulator. */
  providerKey: string;
  /** The one that may read what requests used. */
  providerAdminKey: string;
  /** The key that `npm start` shows; absent until it has been made. */
  apiKey?: string;
};

export function loadSecrets(folder: Folder): Secrets {
  const kept = folder.readJson("secrets.json") as Secrets | undefined;
  if (kept !== undefined) return kept;
  const saved = folder.readJson("saved.json") as Pick<Secrets, "gatewaySecret"> | undefined;
  const made: Secrets = {
    // A saved settlement has the receipt key of its gateway's secret.
    gatewaySecret: saved?.gatewaySecret ?? randomBytes(32).toString("hex"),
    providerKey: `sim-${randomBytes(20).toString("hex")}`,
    providerAdminKey: `sim-admin-${randomBytes(20).toString("hex")}`,
  };
  folder.writeJson("secrets.json", made);
  return made;
}
