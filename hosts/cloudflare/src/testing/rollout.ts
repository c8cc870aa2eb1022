import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { wranglerFile } from "../deploy/wrangler-file.ts";
import { codeOf, type RunningWorker, serveWorkerd, takePort, type WorkerOptions } from "../local/workerd.ts";

/** Which version the objects of each namespace are of, and the Worker in front that is bound to both. */
export type Versions = { former: "older" | "newer"; latter: "older" | "newer" };
export type Front = keyof Versions;

/** Two Workers over the same objects. `url` is the front's. */
export async function startRollout(
  { settings, folder }: WorkerOptions,
  versions: Versions,
  front: () => Front,
): Promise<RunningWorker> {
  mkdirSync(join(folder, "objects"), { recursive: true });
  const modules = { older: "older-worker.ts", newer: "newer-worker.ts", "key-value": "../local/key-value-service.ts" };
  for (const [name, module] of Object.entries(modules)) {
    writeFileSync(join(folder, `${name}.js`), await codeOf(new URL(module, import.meta.url)));
  }
  const ports = { former: await takePort(0), latter: await takePort(0) };
  writeFileSync(join(folder, "config.capnp"), capnp(settings, versions, ports), { mode: 0o600 });
  const urlOf = (of: Front): string => `http://127.0.0.1:${ports[of]}`;
  const worker = await serveWorkerd(folder, urlOf("former"));
  return {
    ...worker,
    get url() {
      return urlOf(front());
    },
  };
}

function capnp(settings: WorkerOptions["settings"], versions: Versions, ports: Record<Front, number>): string {
  const { compatibility_date, compatibility_flags } = wranglerFile;
  const quote = JSON.stringify;
  const fronts = Object.keys(versions) as Front[];
  const bindings = [
    ...fronts.map(
      (of) =>
        `(name = "${of.toUpperCase()}", durableObjectNamespace = (className = "PartitionObject", serviceName = "${of}"))`,
    ),
    `(name = "CHAIN", durableObjectNamespace = (className = "ChainObject", serviceName = "former"))`,
    `(name = "KEY_VALUE", kvNamespace = "key-value")`,
    ...Object.entries({ BASE_URL: "http://gateway.test", ...settings }).map(
      ([name, value]) => `(name = ${quote(name)}, text = ${quote(value)})`,
    ),
  ];
  const workers = fronts.map(
    (of) => `const ${of} :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "${versions[of]}.js")],
  compatibilityDate = ${quote(compatibility_date)},
  compatibilityFlags = ${quote(compatibility_flags)},
  durableObjectNamespaces = [
    (className = "PartitionObject", uniqueKey = "${of}", enableSql = true),
    (className = "ChainObject", uniqueKey = "${of}-chain", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "objects"),
  bindings = [
    ${bindings.join(",\n    ")}
  ],
);`,
  );
  const network = `(allow = ["public", "private", "local"])`;
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "former", worker = .former),
    (name = "latter", worker = .latter),
    (name = "key-value", worker = .keyValue),
    (name = "objects", disk = (path = "objects", writable = true)),
    (name = "internet", network = ${network}),
  ],
  sockets = [
    ${fronts.map((of) => `(name = "${of}", address = "127.0.0.1:${ports[of]}", http = (), service = "${of}")`).join(",\n    ")}
  ],
);
${workers.join("\n")}
const keyValue :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "key-value.js")],
  compatibilityDate = ${quote(compatibility_date)},
);
`;
}
