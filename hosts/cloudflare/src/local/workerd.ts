import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";
import { wranglerFile } from "../deploy/wrangler-file.ts";
import { bundleWorker, WORKER } from "./bundle.ts";

const { default: workerd } = createRequire(import.meta.url)("workerd") as { default: string };

export type RunningWorker = {
  url: string;
  pid: number | undefined;
  /** The end of its output. */
  said(): string;
  /** Resolves when it has ended, for whatever reason. */
  ended: Promise<unknown>;
  /** Kills it. */
  stop(): Promise<void>;
};

export type WorkerOptions = {
  /** Settings and secrets. The default of `BASE_URL` is where it listens. */
  settings: Readonly<Record<string, string>>;
  /** The folder of its objects, which are kept for the next start. */
  folder: string;
  /** 0 for any free one. */
  port?: number;
  /** Other modules for the Worker and its key-value store. */
  entry?: URL;
  keyValue?: URL;
  /** Other Workers, by the name of the binding that calls each. */
  beside?: Readonly<Record<string, BesideWorker>>;
  /** Kills it, also while it starts. */
  signal?: AbortSignal;
};

/** `isTail`: it gets the gateway's log in place of calls. */
type BesideWorker = { entry: URL; settings: Readonly<Record<string, string>>; isTail?: boolean };

/** Bundles the Worker and runs it on local workerd, with its objects on disk and its key-value store in memory. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { settings, folder, port = 0, entry = WORKER, keyValue = KEY_VALUE, beside = {}, signal } = options;
  mkdirSync(join(folder, "objects"), { recursive: true });
  const others = Object.entries(beside).map(([name, worker]) => [`${name}.js`, worker.entry] as const);
  for (const [file, from] of [["worker.js", entry], ["key-value.js", keyValue], ...others] as const) {
    writeFileSync(join(folder, file), await codeOf(from));
  }
  const chosen = await takePort(port);
  const url = `http://127.0.0.1:${chosen}`;
  // It contains secrets.
  writeFileSync(join(folder, "config.capnp"), capnp({ BASE_URL: url, ...settings }, chosen, beside), { mode: 0o600 });
  return serveWorkerd(folder, url, signal);
}

/** Bundles that this process has made. */
const bundled = new Map<string, Promise<Uint8Array>>();

export function codeOf(entry: URL): Promise<Uint8Array> {
  const code = bundled.get(entry.href) ?? bundleWorker(entry);
  bundled.set(entry.href, code);
  return code;
}

/** Runs `workerd serve` with the `config.capnp` of a folder, which makes it listen at the URL. */
export async function serveWorkerd(folder: string, url: string, signal?: AbortSignal): Promise<RunningWorker> {
  const child = spawn(workerd, ["serve", "config.capnp", "--experimental"], { cwd: folder });
  const ended = new Promise((resolve) => child.once("exit", resolve).once("error", resolve));
  const kill = () => child.kill("SIGKILL");
  if (signal?.aborted) kill();
  signal?.addEventListener("abort", kill);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data: Buffer) => {
      said = (said + data.toString()).slice(-MAX_SAID);
    });
  }
  try {
    await answers(url, child);
  } catch (error) {
    kill();
    await ended;
    throw new Error(`workerd did not start: ${said}`, { cause: error });
  }
  return {
    url,
    pid: child.pid,
    said: () => said,
    ended,
    async stop() {
      kill();
      await ended;
    },
  };
}

const KEY_VALUE = new URL("key-value-service.ts", import.meta.url);
const MAX_SAID = 1_000_000;

function capnp(
  settings: Readonly<Record<string, string>>,
  port: number,
  beside: Readonly<Record<string, BesideWorker>>,
): string {
  const { compatibility_date, compatibility_flags, durable_objects, kv_namespaces } = wranglerFile;
  const quote = JSON.stringify;
  const [tails, called] = [true, false].map((isTail) =>
    Object.entries(beside).filter(([, worker]) => (worker.isTail ?? false) === isTail),
  ) as [[string, BesideWorker][], [string, BesideWorker][]];
  const namespaces = durable_objects.bindings.map(
    ({ class_name }) => `(className = ${quote(class_name)}, uniqueKey = ${quote(class_name)}, enableSql = true)`,
  );
  const bindings = [
    ...durable_objects.bindings.map(
      ({ name, class_name }) => `(name = ${quote(name)}, durableObjectNamespace = ${quote(class_name)})`,
    ),
    ...kv_namespaces.map(({ binding }) => `(name = ${quote(binding)}, kvNamespace = "key-value")`),
    ...textBindings(settings),
    ...called.map(([name]) => `(name = ${quote(name)}, service = ${quote(name)})`),
  ];
  const others = Object.entries(beside).map(([name, worker]) => {
    const code = `(name = "worker", esModule = embed ${quote(`${name}.js`)})`;
    const flags = `compatibilityDate = ${quote(compatibility_date)}, compatibilityFlags = ${quote(compatibility_flags)}`;
    const own = textBindings(worker.settings).join(", ");
    return `(name = ${quote(name)}, worker = (modules = [${code}], ${flags}, bindings = [${own}])),`;
  });
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "gateway", worker = .gateway),
    (name = "key-value", worker = .keyValue),
    ${others.join("\n    ")}
    (name = "objects", disk = (path = "objects", writable = true)),
    (name = "internet", network = (allow = ["public", "private", "local"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "gateway")],
);
const gateway :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = ${quote(compatibility_date)},
  compatibilityFlags = ${quote(compatibility_flags)},
  durableObjectNamespaces = [${namespaces.join(", ")}],
  durableObjectStorage = (localDisk = "objects"),
  tails = [${tails.map(([name]) => quote(name)).join(", ")}],
  bindings = [
    ${bindings.join(",\n    ")}
  ],
);
const keyValue :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "key-value.js")],
  compatibilityDate = ${quote(compatibility_date)},
);
`;
}

function textBindings(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).map(([name, value]) => {
    return `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(value)})`;
  });
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`);
    }
    try {
      await fetch(`${url}/api/v1/nothing`);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error("it does not answer");
}

/** A port that is free now. */
export function takePort(wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) => reject(new Error(`Port ${wanted} cannot be used: ${error.message}.`)));
    server.listen(wanted, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : wanted));
    });
  });
}
