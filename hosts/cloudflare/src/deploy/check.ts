import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { ownValue } from "@inference/protocol/own-value";
import * as z from "zod";
import { OBJECT_VERSION } from "../row-log.ts";
import { edgeConfigOf, edgeSettings, settingsOf } from "../settings.ts";
import type { WranglerFile } from "./wrangler-file.ts";

/**
 * The step before a deployment: whether the gateway would start with what `wrangler.jsonc` says of an environment. Size, classes and
 * uploaded secrets are checked by wrangler and Cloudflare.
 */

/** Uploaded separately and not shown again. URLs of nodes contain keys too. */
export const SECRETS = [
  "GATEWAY_SECRET",
  "GATEWAY_SECRET_PREVIOUS",
  "UPSTREAM_API_KEY",
  "UPSTREAM_ADMIN_KEY",
  "UPSTREAM_BILLING_KEY",
  "UPSTREAM_RECORD_KEY",
  "METRICS_TOKEN",
  "RELAY_SECRET",
  "PRIMARY_RPC_URL",
  "SECONDARY_RPC_URLS",
  "WITNESS_RPC_URL",
  "SETTLER_PRIVATE_KEY",
] as const;

/** Valid placeholders for secrets, to check the other settings. */
const standIns: { readonly [secret: string]: string } = {
  GATEWAY_SECRET: "00".repeat(32),
  UPSTREAM_API_KEY: "uploaded",
  UPSTREAM_RECORD_KEY: "uploaded",
  RELAY_SECRET: "uploaded".repeat(4),
  PRIMARY_RPC_URL: "https://uploaded.invalid",
};

/**
 * Why the Worker must not be deployed. Empty if it can be.
 *
 * @param shell The environment of `wrangler deploy`. A variable there replaces a secret of `--secrets-file`.
 */
export function problemsOf(
  {
    vars = {},
    routes = [],
    services = [],
    placement,
  }: Pick<WranglerFile, "vars" | "routes" | "services" | "placement">,
  shell: Readonly<Record<string, string | undefined>> = {},
): string[] {
  const names = Object.keys(vars);
  const secrets: readonly string[] = SECRETS;
  const problems = [
    ...names
      .filter((name) => secrets.includes(name))
      .map((name) => `${name} is a secret: \`npx wrangler secret put ${name}\`.`),
    ...secrets
      .filter((name) => ownValue(shell, name))
      .map(
        (name) =>
          `${name} is set in this shell or in .env: wrangler would upload it in place of your file's. Unset it.`,
      ),
    ...names.filter((name) => !Object.hasOwn(edgeSettings.shape, name)).map((name) => `${name} is not a setting.`),
  ];
  if (vars.LOCATION_HINT && placement === undefined) {
    problems.push(
      "LOCATION_HINT is where the objects are, and the Worker makes several trips to them for a request: say with " +
        "`placement` where the Worker runs.",
    );
  }
  const hasKey = services.some(({ binding }) => binding === "SETTLER_KEY");
  if (hasKey !== Boolean(vars.SETTLER_ADDRESS)) {
    problems.push("SETTLER_ADDRESS among `vars` and the service SETTLER_KEY need each other: set both, or neither.");
  }
  try {
    const { baseUrl } = edgeConfigOf(settingsOf({ ...standIns, ...vars }));
    const host = new URL(baseUrl).host;
    const patterns = routes.map((route) => (typeof route === "string" ? route : route.pattern));
    if (patterns.length > 0 && !patterns.some((pattern) => pattern.replace(/\/.*$/, "") === host)) {
      problems.push(`No route is ${host}, the host of BASE_URL: ${patterns.join(", ")}.`);
    }
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  return problems;
}

/**
 * Whether the release that is deployed reads all rows that this one may write.
 *
 * @param read Returns the answer of the deployed gateway's `/healthz`.
 */
export async function rollbackOf(read: () => Promise<unknown>): Promise<string> {
  const deployed = await read().catch(() => undefined);
  const version = deployedRows.safeParse(deployed).data?.row_version;
  if (version === undefined) {
    return (
      `It is not known whether this deployment can be rolled back: it writes rows of version ${OBJECT_VERSION}, and ` +
      "/healthz at BASE_URL did not say which rows the deployed release reads."
    );
  }
  if (version >= OBJECT_VERSION) {
    return `This deployment can be rolled back: the deployed release reads rows of version ${OBJECT_VERSION}.`;
  }
  return (
    `This deployment CANNOT be rolled back: it writes rows of version ${OBJECT_VERSION}, and the deployed release reads ` +
    `rows up to version ${version}. It would refuse each account that has a newer row. To stop here, press Ctrl-C.`
  );
}

const deployedRows = z.object({ row_version: z.number() });

/** The environment that wrangler makes of a shell's, with the files of variables in this folder. */
export function wranglerEnvironment(
  shell: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const files = [".env", ".env.local"].filter((file) => existsSync(file));
  return Object.assign({}, ...files.map((file) => parseEnv(readFileSync(file, "utf8"))), shell);
}

/** The gateway's public URL in a file that has no problems. */
export function baseUrlOf({ vars }: Pick<WranglerFile, "vars">): string {
  return settingsOf({ ...standIns, ...vars }).BASE_URL;
}
