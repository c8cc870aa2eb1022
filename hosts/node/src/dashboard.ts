import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { DashboardAsset, DashboardFiles } from "@inference/gateway/environment";
import { SettingsError } from "@inference/gateway/settings";
import type { NodeSettings } from "./settings.ts";

/** The output of `dashboard/src/build`. */
const BUILT = new URL("../../../dashboard/dist/site.json", import.meta.url);

/** The dashboard's files; undefined if it was not built. Throws `SettingsError` for a script that is not allowed. */
export function readDashboard(
  { BASE_URL, DASHBOARD_SCRIPT: script }: Pick<NodeSettings, "BASE_URL" | "DASHBOARD_SCRIPT">,
  built = BUILT,
): DashboardFiles | undefined {
  if (script !== undefined) requireLocal(BASE_URL);
  if (!existsSync(built)) return undefined;
  const site = JSON.parse(readFileSync(built, "utf8")) as DashboardFiles | null;
  if (site === null) return undefined;
  const { page, assets, docs } = site;
  const own = script === undefined ? undefined : readScript(script);
  return {
    page: own === undefined ? page : page.replace("<head>", `<head><script src="/assets/${own.name}"></script>`),
    assets: own === undefined ? assets : { ...assets, [own.name]: own.asset },
    docs,
  };
}

/** A script of somebody's in the page could take the dollars of whoever opens it. */
function requireLocal(baseUrl: string): void {
  const { hostname } = new URL(baseUrl);
  if (hostname === "127.0.0.1" || hostname === "localhost" || hostname === "[::1]") return;
  throw new SettingsError("DASHBOARD_SCRIPT: is for development, and BASE_URL is not on this machine: unset it");
}

function readScript(file: string): { name: string; asset: DashboardAsset } {
  try {
    const text = readFileSync(file, "utf8");
    const hash = createHash("sha256").update(text).digest("hex").slice(0, 8);
    return { name: `development-${hash}.js`, asset: { type: "text/javascript", text } };
  } catch (error) {
    throw new SettingsError(`DASHBOARD_SCRIPT: ${file} cannot be read: ${String(error)}`);
  }
}
