import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { freePort } from "@inference/contracts/free-port";
import { gatewayTarget } from "./gateway-target.ts";
import { answering, firstLine, start, startScript } from "./process.ts";
import { DIRECT } from "./summary.ts";
import type { Target } from "./target.ts";

export { DIRECT };
/** The divisor of all figures. */
export const BARE = "bare proxy";
export const completions = "/api/v1/chat/completions";

const bare: Target = {
  name: BARE,
  missing: async () => undefined,
  async start(upstreamOrigin) {
    const proxy = await startScript("./bare-proxy.ts", [upstreamOrigin]);
    return {
      origin: await firstLine(proxy),
      path: completions,
      headers: [{}],
      pids: [proxy.pid],
      stop: proxy.stop,
    };
  },
};

/** The upstream itself, for the latencies that a target adds. */
const direct: Target = {
  name: DIRECT,
  missing: async () => undefined,
  async start(upstreamOrigin) {
    return { origin: upstreamOrigin, path: completions, headers: [{}], pids: [], stop: async () => {} };
  },
};

const nginx: Target = {
  name: "nginx",
  missing: async () => ((await nginxPath()) === undefined ? "nginx is not installed" : undefined),
  async start(upstreamOrigin) {
    const program = await nginxPath();
    if (program === undefined) throw new Error("nginx is not installed");
    const directory = await mkdtemp(join(tmpdir(), "bench-nginx-"));
    const port = await freePort();
    const file = join(directory, "nginx.conf");
    await writeFile(file, nginxConfig(directory, port, new URL(upstreamOrigin).host));
    const server = await start(program, ["-p", directory, "-c", file, "-e", "stderr"]);
    const origin = `http://127.0.0.1:${port}`;
    await answering(`${origin}/api/v1/models`, server);
    return {
      origin,
      path: completions,
      headers: [{}],
      pids: [server.pid],
      async stop() {
        await server.stop();
        await rm(directory, { recursive: true, force: true });
      },
    };
  },
};

/** One worker, because every other target serves from one thread. */
function nginxConfig(directory: string, port: number, upstream: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `  ${kind}_temp_path ${join(directory, kind)};`)
    .join("\n");
  return `daemon off;
worker_processes 1;
pid ${join(directory, "nginx.pid")};
error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off;
${temporary}
  keepalive_requests 1000000000;
  keepalive_timeout 1h;
  upstream fixed { server ${upstream}; keepalive 512; keepalive_requests 1000000000; keepalive_timeout 1h; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://fixed;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
}

/** Debian installs nginx in a directory that is not on every user's path. */
async function nginxPath(): Promise<string | undefined> {
  const directories = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  for (const directory of directories) {
    const path = join(directory, "nginx");
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return undefined;
}

/** Portkey passes requests through, without keys, budgets or a ledger of its own. */
const portkey: Target = {
  name: "Portkey",
  missing: async () => (portkeyPath() === undefined ? "@portkey-ai/gateway is not installed" : undefined),
  async start(upstreamOrigin) {
    const program = portkeyPath();
    if (program === undefined) throw new Error("@portkey-ai/gateway is not installed");
    const port = await freePort();
    // Headless, because its console page records every request; production, because anything else logs.
    const preload = new URL("./portkey-preload.ts", import.meta.url).href;
    const server = await start(process.execPath, ["--import", preload, program, "--headless", `--port=${port}`], {
      env: { NODE_ENV: "production" },
    });
    server.child.stdout?.resume();
    const origin = `http://127.0.0.1:${port}`;
    await answering(origin, server);
    return {
      origin,
      path: "/v1/chat/completions",
      headers: [portkeyHeaders(upstreamOrigin)],
      pids: [server.pid],
      stop: server.stop,
    };
  },
};

function portkeyHeaders(upstreamOrigin: string): Record<string, string> {
  return {
    authorization: "Bearer bench",
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `${upstreamOrigin}/api/v1`,
  };
}

function portkeyPath(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve("@portkey-ai/gateway/build/start-server.js");
  } catch {
    return undefined;
  }
}

/** The compared targets, yardsticks first. */
export const targets: readonly Target[] = [direct, bare, nginx, portkey, gatewayTarget()];
