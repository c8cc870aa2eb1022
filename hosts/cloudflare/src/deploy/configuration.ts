import { gatewaySettings } from "@inference/gateway/settings";
import type { Bundle } from "./bundle.ts";
import { workerShape } from "./worker-shape.ts";

/** Not in the configuration: each is uploaded separately and not shown again. URLs of nodes contain keys too. */
export const SECRETS = [
  "GATEWAY_SECRET",
  "UPSTREAM_API_KEY",
  "UPSTREAM_ADMIN_KEY",
  "UPSTREAM_RECORD_KEY",
  "METRICS_TOKEN",
  "PRIMARY_RPC_URL",
  "SECONDARY_RPC_URLS",
  "WITNESS_RPC_URL",
  "SETTLER_PRIVATE_KEY",
] as const;

/** The format of `wrangler.json`. */
export type Configuration = {
  name: string;
  main: string;
  no_bundle: true;
  compatibility_date: string;
  compatibility_flags: readonly string[];
  durable_objects: { bindings: { name: string; class_name: string }[] };
  migrations: { tag: string; new_sqlite_classes: readonly string[] }[];
  kv_namespaces: { binding: string; id: string }[];
  vars: Record<string, string>;
  limits: { cpu_ms: number };
  observability: { enabled: true };
};

/** A long stream is read event by event, and may take more CPU time than the default of 30 s. */
const CPU_MS = 300_000;

/** @param settings All but the secrets become variables. */
export function configurationOf(
  settings: Readonly<Record<string, string | undefined>>,
  options: { name?: string | undefined; keyValueId: string },
): Configuration {
  const secrets: readonly string[] = SECRETS;
  const names = Object.keys(gatewaySettings.shape).filter((name) => !secrets.includes(name));
  return {
    name: options.name ?? workerShape.name,
    main: "worker.js",
    no_bundle: true,
    compatibility_date: workerShape.compatibilityDate,
    compatibility_flags: workerShape.compatibilityFlags,
    durable_objects: {
      bindings: workerShape.objects.map(({ binding, className }) => ({ name: binding, class_name: className })),
    },
    migrations: workerShape.migrations.map(({ tag, newSqliteClasses }) => ({
      tag,
      new_sqlite_classes: newSqliteClasses,
    })),
    kv_namespaces: [{ binding: workerShape.keyValue, id: options.keyValueId }],
    vars: Object.fromEntries(
      names.flatMap((name) => {
        const value = settings[name];
        return value === undefined || value === "" ? [] : [[name, value]];
      }),
    ),
    limits: { cpu_ms: CPU_MS },
    observability: { enabled: true },
  };
}

/** Cloudflare's limits of a Worker, gzip-compressed, on the free and the paid plan, and of each variable. */
export const FREE_BYTES = 3 * 1024 * 1024;
export const PAID_BYTES = 10 * 1024 * 1024;
const VARIABLE_BYTES = 5 * 1024;
const MOST_VARIABLES = 128;
/** The runtime's modules that the gateway may import: none for files, processes or sockets. */
const PROVIDED = /^(cloudflare:workers|node:(async_hooks|buffer|crypto|events|stream|util|zlib))$/;

/** What Cloudflare would refuse, and what would run without its objects. Empty if it can be deployed. */
export function problemsOf(configuration: Configuration, { exports, imports, gzipBytes }: Bundle): string[] {
  const { durable_objects, migrations, vars, kv_namespaces } = configuration;
  const problems: string[] = [];
  if (gzipBytes > PAID_BYTES) problems.push(`The Worker has ${gzipBytes} bytes, and may have ${PAID_BYTES}.`);
  for (const name of imports)
    if (!PROVIDED.test(name)) problems.push(`The bundle imports ${name}, which Workers lack.`);
  if (!exports.includes("default")) problems.push("The bundle exports no handler.");
  const migrated = migrations.flatMap(({ new_sqlite_classes }) => new_sqlite_classes);
  const tags = migrations.map(({ tag }) => tag);
  if (new Set(tags).size < tags.length) problems.push(`Two migrations have one tag: ${tags.join(", ")}.`);
  for (const { class_name } of durable_objects.bindings) {
    if (!exports.includes(class_name)) problems.push(`The bundle does not export ${class_name}.`);
    const times = migrated.filter((name) => name === class_name).length;
    if (times !== 1) problems.push(`${class_name} is made by ${times} migrations, and must be by one.`);
  }
  const bindings = [
    ...durable_objects.bindings.map(({ name }) => name),
    ...kv_namespaces.map(({ binding }) => binding),
  ];
  for (const name of bindings.filter((binding) => binding in vars)) problems.push(`${name} is bound twice.`);
  if (Object.keys(vars).length + SECRETS.length > MOST_VARIABLES) problems.push("There are too many variables.");
  for (const [name, value] of Object.entries(vars)) {
    const bytes = Buffer.byteLength(value);
    if (bytes > VARIABLE_BYTES) problems.push(`${name} has ${bytes} bytes, and may have ${VARIABLE_BYTES}.`);
  }
  return problems;
}
