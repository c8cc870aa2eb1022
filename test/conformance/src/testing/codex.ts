import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { listenLocally } from "@inference/protocol/testing/local-server";

/** A model's name, which decides the tools that Codex offers, and the model's answers turn by turn. */
export type CodexTask = {
  model: string;
  script: readonly object[];
  /** It also has the gateway's MCP server, added by the command of docs/clients.md. */
  mcp?: boolean;
};

const PATCH = ["*** Begin Patch", "*** Update File: a.txt", "@@", " one", "-two", "+zwei", " three", "*** End Patch\n"];
const patch = PATCH.join("\n");
const done = { say: "Done: the second line is zwei." };
const read = { name: "exec_command", arguments: { cmd: "cat a.txt" } };
const inCode = (code: string) => ({ name: "exec", arguments: { input: code } });

/** Each reads a file, applies a patch and finishes. */
export const codexTasks: Readonly<Record<string, CodexTask>> = {
  "of a model that it does not know: the patch is a command": {
    model: "sim-small",
    script: [
      { think: "I look first.", say: "Reading.", calls: [read] },
      { calls: [{ name: "exec_command", arguments: { cmd: `apply_patch <<'EOF'\n${patch}EOF` } }] },
      done,
    ],
  },
  "of a model that has the custom tool apply_patch": {
    model: "gpt-5.5",
    script: [
      { think: "I look first.", say: "Reading.", calls: [read] },
      { calls: [{ name: "apply_patch", arguments: { input: patch } }] },
      done,
    ],
  },
  "of a model that has its tools in an item of the input, and writes code": {
    model: "gpt-6-sol",
    script: [
      {
        think: "I look first.",
        say: "Reading.",
        calls: [inCode('text(await tools.exec_command({ cmd: "cat a.txt" }));')],
      },
      {
        calls: [
          inCode(`text(await tools.apply_patch(${JSON.stringify(patch)}));`),
          { name: "clock__sleep", arguments: { duration_ms: 10 } },
        ],
      },
      done,
    ],
  },
};

export type CodexRun = {
  code: number | null;
  said: string;
  /** The file of the task when it has ended; `one`, `two` and `three` before. */
  file: string;
  /** The bodies of POST /responses. */
  bodies: Record<string, unknown>[];
  statuses: number[];
};

/** One task, in a temporary folder, with the set-up of `/docs`. The gateway sees the simulator's model in place of the named one. */
export async function runCodex(
  program: string,
  target: { url: string; key: string },
  task: CodexTask,
): Promise<CodexRun> {
  const bodies: CodexRun["bodies"] = [];
  const statuses: number[] = [];
  const proxy = createServer((request, response) => void pass(request, response).catch(() => response.destroy()));

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse((await buffer(request)).toString()) as Record<string, unknown>;
    bodies.push(body);
    const { authorization = "", accept = "" } = request.headers;
    const answer = await fetch(target.url + request.url, {
      method: "POST",
      headers: { authorization, accept, "content-type": "application/json" },
      body: JSON.stringify({ ...body, model: "sim-small" }),
    });
    statuses.push(answer.status);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const bytes of answer.body ?? []) response.write(bytes);
    response.end();
  }

  const { url: baseUrl, close } = await listenLocally(proxy);
  const folder = mkdtempSync(join(tmpdir(), "codex-"));
  writeFileSync(join(folder, "config.toml"), await printedSetup(target.url, { baseUrl, model: task.model }));
  writeFileSync(join(folder, "a.txt"), "one\ntwo\nthree\n");
  const prompt = `Change the file a.txt. <script>${JSON.stringify(task.script)}</script>`;
  const flags = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
  const env = { PATH: process.env.PATH, HOME: folder, CODEX_HOME: folder, INFERENCE_API_KEY: target.key };
  try {
    if (task.mcp === true) {
      const added = [
        "mcp",
        "add",
        "gateway",
        "--url",
        `${target.url}/mcp`,
        "--bearer-token-env-var",
        "INFERENCE_API_KEY",
      ];
      await promisify(execFile)(program, added, { cwd: folder, env });
      // Codex begins its first turn only when the server has told its tools.
      appendFileSync(join(folder, "config.toml"), "required = true\n");
    }
    const child = spawn(program, [...flags, prompt], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    const said: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => said.push(bytes));
    const [code] = (await once(child, "close")) as [number | null];
    return {
      code,
      said: Buffer.concat(said).toString(),
      file: readFileSync(join(folder, "a.txt"), "utf8"),
      bodies,
      statuses,
    };
  } finally {
    await close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** The file that `/llms.txt` shows, with the model and the address of this test. */
async function printedSetup(url: string, { baseUrl, model }: { baseUrl: string; model: string }): Promise<string> {
  const page = await (await fetch(`${url}/llms.txt`)).text();
  const [, toml = ""] = /```toml\n(.*?)```/s.exec(page) ?? [];
  return toml
    .replace(/^model = ".*"$/m, `model = "${model}"`)
    .replace(/^base_url = ".*(\/v1)"$/m, `base_url = "${baseUrl}$1"`);
}
