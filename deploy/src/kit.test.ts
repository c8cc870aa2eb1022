import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { limits } from "@inference/gateway/config";
import { parseSettings, SettingsError } from "@inference/gateway/settings";
import { nodeSettings } from "@inference/host-node/settings";
import { readSettingsFile } from "@inference/host-node/settings-file";
import { readKeeperSettings } from "@inference/keeper/settings";
import { parse } from "yaml";
import { dockerSteps, kit, panels, read, root, rules } from "./testing/kit.ts";

/** The kit's files against the code and the pages that they depend on. `kit.deep.test.ts` runs them. */
type Service = {
  image: string;
  command: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  stop_grace_period?: string;
  init?: boolean;
};
const compose = parse(read("compose.yaml"), { merge: true }) as { services: Record<string, Service> };
const { gateway = assert.fail(), keeper = assert.fail(), ...others } = compose.services;
const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { version: string };
/** Settings that the kit may set. */
const settings = new Set(Object.keys(nodeSettings.shape));
const ofKeeper = new Set(["KEEPER_FILE", "KEEPER_KEY", "RELAY_KEY", "RELAY_SECRET"]);

test("the operator's page has each alert rule, with its severity, meaning and action, and no other", () => {
  const page = readFileSync(`${root}docs/operating.md`, "utf8");
  const [, table = ""] = /<!-- alerts -->(.+)<!-- \/alerts -->/s.exec(page) ?? [];
  const rows = [...table.matchAll(/^\| `(\w+)` \| (page|ticket) \| (.+) \|$/gm)].map(([, ...row]) => row);
  const declared = rules().map(({ alert, labels, annotations }) => [
    alert,
    labels.severity,
    annotations.summary.replace("{{ $labels.event }}", "<event>"),
  ]);
  assert.ok(declared.length > 10);
  assert.deepEqual(rows, declared);
});

test("compose and the units run programs that exist, with settings that exist, and leave the time that a stop takes", () => {
  const scripts = [
    gateway.command[0],
    keeper.command[0],
    dockerSteps()
      .at(-1)
      ?.rest.replaceAll(/[[\]"]/g, ""),
  ];
  for (const script of scripts) assert.ok(existsSync(root + script), script);
  for (const name of Object.keys(gateway.environment ?? {})) assert.ok(settings.has(name), name);
  assert.deepEqual(Object.keys(keeper.environment ?? {}), [...ofKeeper]);
  assert.deepEqual(
    [gateway.init, keeper.init],
    [true, true],
    "the watchdog cannot end the first process of a container",
  );
  // 20 s for the requests, 20 s for the answers of those that were cut off, and the jobs.
  assert.ok(Number.parseInt(gateway.stop_grace_period ?? "", 10) >= 45);
  for (const { image } of [gateway, keeper]) assert.equal(image, `inference-gateway:${version}`);
  for (const { image } of Object.values(others)) assert.match(image, /:v?\d+\.\d+\.\d+$/);
  const units = globSync("systemd/*.service", { cwd: kit }).map(read);
  assert.equal(units.length, 3);
  for (const unit of units) {
    const [script = ""] = /\S+\/main\.ts/.exec(unit) ?? [];
    assert.ok(existsSync(root + script), script);
    for (const [, name = ""] of unit.matchAll(/^Environment=(\w+)=/gm)) {
      assert.ok(settings.has(name) || ofKeeper.has(name) || name === "BACKUPS_DIRECTORY", name);
    }
  }
  assert.match(read("systemd/inference-gateway.service"), /^TimeoutStopSec=60$/m);
});

test("every file that compose mounts is in the kit, or is a copy of an example, or a secret of the operator", () => {
  const volumes = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes);
  const mounted = volumes.flatMap((volume) => /^\.\/([^:]+)/.exec(volume)?.[1] ?? []);
  const made = new Map([
    ["gateway.env", "gateway.example.env"],
    ["keeper.json", "keeper.example.json"],
  ]);
  const absent = mounted.filter((name) => name !== "backups" && !existsSync(kit + (made.get(name) ?? name)));
  assert.deepEqual(absent, []);
  const ignored = readFileSync(`${root}.gitignore`, "utf8").split("\n");
  const secrets = [...made.keys(), ".env", "backups/"].map((name) => `/deploy/${name}`);
  assert.deepEqual(
    secrets.filter((name) => !ignored.includes(name)),
    [],
    "a secret could be committed",
  );
});

test("the image has the pinned Node, and copies folders that exist", () => {
  const steps = dockerSteps();
  const node = readFileSync(`${root}.nvmrc`, "utf8").trim();
  const images = steps.filter(({ word, rest }) => word === "FROM" && rest.includes(":"));
  assert.ok(images.every(({ rest }) => rest.startsWith(`node:${node}-`)));
  const copied = steps.filter(({ word, rest }) => word === "COPY" && !rest.startsWith("--from="));
  assert.ok(copied.length > 8);
  for (const { rest } of copied) {
    for (const name of rest.split(" ").slice(0, -1)) assert.ok(existsSync(root + name), name);
  }
});

test("the example of the settings lacks nothing but what its operator has to fill in", () => {
  const environment: Record<string, string> = {};
  readSettingsFile(`${kit}gateway.example.env`, environment);
  const problems = (): string[] => {
    try {
      parseSettings(nodeSettings, environment);
      return [];
    } catch (error) {
      assert.ok(error instanceof SettingsError);
      return error.message
        .split("\n")
        .slice(1)
        .map((line) => line.trim().split(":", 1)[0] ?? "");
    }
  };
  assert.deepEqual(problems().sort(), ["GATEWAY_SECRET", "UPSTREAM_API_KEY"]);
  Object.assign(environment, { GATEWAY_SECRET: "5e".repeat(32), UPSTREAM_API_KEY: "key" });
  assert.deepEqual(problems(), []);
  const key = `0x${"1".repeat(64)}`;
  assert.equal(readKeeperSettings({ KEEPER_FILE: `${kit}keeper.example.json`, KEEPER_KEY: key }).chains.length, 1);
});

test("both proxies accept larger bodies than the gateway, and wait longer than a request may take", () => {
  const [nginx, caddy] = [read("proxy/nginx.conf"), read("proxy/Caddyfile")];
  const bodyBytes = nodeSettings.shape.CHAT_BODY_BYTES.parse(undefined);
  const numberIn = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1]);
  assert.ok(numberIn(nginx, /client_max_body_size (\d+)m;/) * 2 ** 20 > bodyBytes);
  assert.ok(numberIn(caddy, /max_size (\d+)MB/) * 1e6 > bodyBytes);
  assert.ok(numberIn(nginx, /proxy_read_timeout (\d+)m;/) * 60_000 > limits.requestMs);
  assert.ok(numberIn(caddy, /response_header_timeout (\d+)m/) * 60_000 > limits.requestMs);
});

test("the dashboard's panels have their own numbers and places, and ask the provisioned Prometheus", () => {
  const all = panels();
  assert.ok(all.length > 20);
  const cells = all.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
  );
  assert.equal(new Set(cells).size, cells.length, "two panels in one place");
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
  const { datasources } = parse(read("grafana/provisioning/datasources/prometheus.yml")) as {
    datasources: { uid: string }[];
  };
  for (const { datasource } of all) assert.equal(datasource.uid, datasources[0]?.uid);
});
