import assert from "node:assert/strict";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { auditBooks } from "./chaos/books.ts";
import { gatewayUrl } from "./chaos/processes.ts";
import { withSite } from "./testing/site.ts";

/** The files that a gateway's process leaves, with the modes that others may use. */
function openFiles(folder: string): string[] {
  return readdirSync(folder).filter((name) => (statSync(join(folder, name)).mode & 0o077) !== 0);
}

const token = "an-operators-token";

test("a gateway's process, with its settings in a file and its ledger backed up", (t) =>
  withSite(async ({ folder, file, env, start }) => {
    auditBooks(file);
    const settings = join(folder, "gateway.env");
    const lines = Object.entries(env).map(([name, value]) => `${name}='${value}'`);
    writeFileSync(settings, [...lines, `METRICS_TOKEN=${token}`, "HOST=0.0.0.0"].join("\n"));
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
    const args = ["--settings", settings];
    // The environment comes before the file.
    const gateway = await start({ script: "../main.ts", args, env: { HOST: "127.0.0.1", PORT: "" } });
    const backup = await start({ script: "../main.ts", args: ["backup", join(folder, "copy.sqlite"), ...args] });

    await t.test("says on one line each that it listens, and is backed up", () => {
      const said = [gateway, backup].map(({ ready }) => JSON.parse(ready) as Record<string, string>);
      assert.deepEqual(
        said.map(({ level, event }) => [level, event]),
        [
          ["info", "listening"],
          ["info", "backed_up"],
        ],
      );
      for (const { at } of said) assert.match(String(at), /^\d{4}-.+Z$/);
      assert.match(gatewayUrl(gateway.ready), /^http:\/\/127\.0\.0\.1:\d+$/);
    });

    await t.test(
      "makes database, WAL, cache and backup its user's alone, and warns of a settings file that is not",
      () => {
        const names = readdirSync(folder);
        for (const end of ["", "-wal", "-shm", "-lock", "-kv", "-backup"]) {
          assert.ok(names.includes(`gateway.sqlite${end}`), end);
        }
        assert.ok(names.includes("copy.sqlite"));
        assert.deepEqual(openFiles(folder), ["gateway.env"]);
        assert.match(gateway.stderr(), /"level":"warn","event":"settings_file_readable".+chmod 600/);
      },
    );

    await t.test(
      "has metrics of its process, its files and its backup, and all that the kit's rules and dashboard name",
      async () => {
        const headers = { authorization: `Bearer ${token}` };
        const text = await (await fetch(`${gatewayUrl(gateway.ready)}/metrics`, { headers })).text();
        const samples = new Map(text.split("\n").map((line) => line.split(/ (?=[^ ]+$)/) as [string, string]));
        const value = (name: string) => Number(samples.get(name));
        const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
          version: string;
        };
        assert.match(
          text,
          new RegExp(`^inference_gateway_build_info\\{version="${version}",schema="\\d+",node="v\\d.+"\\} 1$`, "m"),
        );
        assert.equal(value('inference_gateway_ledger_bytes{file="database"}'), statSync(file).size);
        for (const name of [
          "inference_gateway_ledger_disk_free_bytes",
          "process_resident_memory_bytes",
          "process_open_fds",
        ]) {
          assert.ok(value(name) > 0, name);
        }
        const backupAgeS = Date.now() / 1_000 - value("inference_gateway_last_backup_timestamp_seconds");
        assert.ok(backupAgeS >= 0 && backupAgeS < 3_600, String(backupAgeS));
        const kit = ["prometheus/alerts.yml", "grafana/dashboard.json"].map((name) =>
          readFileSync(new URL(`../../../deploy/${name}`, import.meta.url), "utf8"),
        );
        const named = kit.join().match(/\b(inference_gateway|process|nodejs)_[a-z0-9_]+/g) ?? [];
        assert.ok(named.length > 30, "the files were read");
        const absent = named.filter((name) => !text.includes(`# TYPE ${name.replace(/_(bucket|sum|count)$/, "")} `));
        assert.deepEqual(absent, []);
      },
    );
    assert.deepEqual(await gateway.kill("SIGTERM"), { code: 0, signal: null });
  }));
