import assert from "node:assert/strict";
import { execFileSync, type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, matchesGlob, relative } from "node:path";
import { after, test } from "node:test";
import { gatewayUrl } from "@inference/host-node/chaos/processes";
import { withSite } from "@inference/host-node/testing/site";
import { eventually } from "@inference/protocol/testing/eventually";
import { binaryOf } from "./testing/binaries.ts";
import { dockerSteps, kit, panels, read, root, rules } from "./testing/kit.ts";

/** The kit's files, run by the programs that they are for. */
const folder = mkdtempSync(join(tmpdir(), "kit-"));
after(() => rmSync(folder, { recursive: true }));

const prometheus = binaryOf("prometheus", "usr/bin/prometheus");
const promtool = binaryOf("prometheus", "usr/bin/promtool");
const skip = (prometheus === undefined || promtool === undefined) && "there is no prometheus";

const succeed = ({ status, stdout, stderr }: SpawnSyncReturns<string>) => assert.equal(status, 0, stdout + stderr);

test("promtool accepts the rules, and they do over time what their tests say", { skip }, () => {
  const run = (...args: string[]) => spawnSync(promtool || "", args, { cwd: `${kit}prometheus`, encoding: "utf8" });
  succeed(run("check", "rules", "alerts.yml"));
  succeed(run("test", "rules", "alerts.test.yml"));
});

test("systemd accepts the units", { skip: spawnSync("systemd-analyze", ["--version"]).status !== 0 }, () => {
  for (const name of globSync("systemd/*", { cwd: kit })) {
    // The program is at its place on the operator's machine alone.
    const unit = read(name).replaceAll("/opt/inference-gateway/node_modules/node/bin/node", process.execPath);
    writeFileSync(join(folder, basename(name)), unit);
  }
  const units = globSync("*.{service,timer}", { cwd: folder });
  assert.equal(units.length, 4);
  const { stdout, stderr, status } = spawnSync("systemd-analyze", ["verify", ...units.map((name) => `./${name}`)], {
    ...{ cwd: folder, encoding: "utf8" },
  });
  assert.deepEqual([status, `${stdout}${stderr}`.split("\n").filter((line) => line.includes(folder))], [0, []]);
});

test(
  "a real Prometheus scrapes a real gateway, computes every rule and panel, and alerts when the gateway dies",
  { skip },
  () =>
    withSite(async ({ env, start }) => {
      const token = "an-operators-token";
      const gateway = await start({ script: "../main.ts", env: { ...env, METRICS_TOKEN: token } });
      writeFileSync(join(folder, "metrics-token"), `${token}\n`);
      const written = read("prometheus/prometheus.yml");
      assert.match(written, /targets: \["gateway:8787"\]/);
      const configuration = written
        .replace("gateway:8787", new URL(gatewayUrl(gateway.ready)).host)
        .replace("/etc/prometheus/", `${folder}/`)
        .replaceAll("15s", "1s");
      writeFileSync(join(folder, "prometheus.yml"), configuration);
      writeFileSync(join(folder, "alerts.yml"), read("prometheus/alerts.yml").replace("for: 1m", "for: 1s"));
      const flags = ["--config.file=prometheus.yml", "--storage.tsdb.path=tsdb", "--web.listen-address=127.0.0.1:0"];
      const child = spawn(prometheus || "", flags, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
      let logged = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        logged += text;
      });
      const exited = once(child, "exit");
      try {
        const address = await eventually(() => / address=(127\.0\.0\.1:[1-9]\d*)\n/.exec(logged)?.[1] ?? false);
        const url = `http://${address}`;
        const query = async (expr: string): Promise<{ metric: Record<string, string>; value: [number, string] }[]> => {
          const answer = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: expr })}`);
          assert.equal(answer.status, 200, expr);
          return ((await answer.json()) as { data: { result: [] } }).data.result;
        };
        await eventually(async () => (await query("up == 1")).length === 1);
        for (const { expr } of rules()) await query(expr);
        const exprs = panels().flatMap(({ targets }) => targets.map(({ expr }) => expr));
        const empty: string[] = [];
        for (const expr of exprs) if ((await query(expr)).length === 0) empty.push(expr);
        // Without a request, a settler or a chain to follow these have no samples yet; the others have.
        const quiet = /rate\(|increase\(|settle(r|ment)_|chain_lag|ceiling_settled_nano_usd \/ inference/;
        assert.deepEqual(
          empty.filter((expr) => !quiet.test(expr)),
          [],
        );
        await gateway.kill();
        await eventually(async () => {
          const [firing] = await query('ALERTS{alertname="GatewayDown",alertstate="firing"}');
          return firing?.metric.severity === "page";
        });
      } finally {
        child.kill();
        await exited;
      }
    }),
);

test("the steps of the Dockerfile make a folder with a gateway that serves its dashboard, and a keeper", () =>
  withSite(async ({ env, start }) => {
    const stages = new Map<string, string>();
    const ignored = read("Dockerfile.dockerignore").trim().split("\n");
    const isIgnored = (path: string) => ignored.some((pattern) => matchesGlob(path, pattern));
    for (const { stage, word, rest } of dockerSteps()) {
      const app = join(folder, `stage-${stage}`);
      const words = rest.split(" ");
      if (word === "FROM") {
        const from = stages.get(words[0] ?? "");
        if (from === undefined) mkdirSync(app);
        else cpSync(from, app, { recursive: true });
        stages.set(stage, app);
      } else if (word === "COPY") {
        const target = words.at(-1) ?? "";
        const [, of] = /^--from=(\w+)$/.exec(words[0] ?? "") ?? [];
        const sources =
          of === undefined ? words.slice(0, -1).map((name) => root + name) : [imagePath(stages.get(of), words[1])];
        for (const source of sources) {
          cpSync(source, join(app, target, target.endsWith("/") ? basename(source) : ""), {
            recursive: true,
            filter: (path) => of !== undefined || !isIgnored(relative(root, path)),
          });
        }
      } else if (word === "RUN" && !rest.includes("/data")) {
        succeed(spawnSync("sh", ["-ec", rest], { cwd: app, encoding: "utf8", env: onlyNode() }));
      }
    }
    const app = stages.get("") ?? assert.fail();
    const [script = ""] = JSON.parse(dockerSteps().at(-1)?.rest ?? "[]") as string[];
    const gateway = await start({ script: join(app, script), env });
    const page = await fetch(gatewayUrl(gateway.ready), { headers: { accept: "text/html" } });
    assert.match(await page.text(), /<script[^>]+src="\/assets\//);
    const keeper = execFileSync(process.execPath, [join(app, "keeper/src/main.ts"), "--version"], { encoding: "utf8" });
    assert.equal(
      keeper.trim(),
      (JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { version: string }).version,
    );
  }));

/** A path of an image's file in the folder of its stage. */
function imagePath(stage: string | undefined, path = ""): string {
  return path.replace("/app", stage ?? assert.fail());
}

/** The variables of a shell that finds this Node, and no setting of the npm that runs the tests. */
function onlyNode(): Record<string, string> {
  const kept = ["HOME", "PATH"].flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  return Object.fromEntries(kept) as Record<string, string>;
}
