import assert from "node:assert/strict";
import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { auditBooks } from "./chaos/books.ts";
import { withSite } from "./testing/site.ts";

/** The files that a gateway's process leaves, with the modes that others may use. */
function openFiles(folder: string): string[] {
  return readdirSync(folder).filter((name) => (statSync(join(folder, name)).mode & 0o077) !== 0);
}

test("database, WAL, cache and backup are for the gateway's user alone, also those that had other rights", () =>
  withSite(async ({ folder, file, env, start }) => {
    auditBooks(file);
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
    const gateway = await start({ script: "../main.ts", env });
    const backup = await start({ script: "../main.ts", args: ["backup", join(folder, "copy.sqlite")], env });
    const lines = [gateway, backup].map(({ ready }) => JSON.parse(ready) as Record<string, string>);
    assert.deepEqual(
      lines.map(({ level, event }) => [level, event]),
      [
        ["info", "listening"],
        ["info", "backed_up"],
      ],
    );
    for (const { at } of lines) assert.match(String(at), /^\d{4}-.+Z$/);
    const names = readdirSync(folder);
    for (const end of ["", "-wal", "-shm", "-lock", "-kv"]) assert.ok(names.includes(`gateway.sqlite${end}`), end);
    assert.ok(names.includes("copy.sqlite"));
    assert.deepEqual(openFiles(folder), []);
    await gateway.kill("SIGTERM");
  }));
