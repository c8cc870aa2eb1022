import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { auditBooks } from "./chaos/books.ts";
import { gatewayEnvironment, launch, start, startProvider } from "./chaos/processes.ts";

/** The files that a gateway's process leaves, with the modes that others may use. */
function openFiles(folder: string): string[] {
  return readdirSync(folder).filter((name) => (statSync(join(folder, name)).mode & 0o077) !== 0);
}

test("database, WAL, cache and backup are for the gateway's user alone, also those that had other rights", async () => {
  const folder = mkdtempSync(join(tmpdir(), "private-"));
  const file = join(folder, "gateway.sqlite");
  const provider = await startProvider();
  try {
    auditBooks(file);
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644);
    const env = gatewayEnvironment({ databaseFile: file, secret: "c7".repeat(32), provider });
    const gateway = await start({ script: "../main.ts", env });
    try {
      const backup = launch({ script: "../main.ts", args: ["backup", join(folder, "copy.sqlite")], env });
      const lines = [gateway.ready, await backup.ready].map((line) => JSON.parse(line) as Record<string, string>);
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
    } finally {
      await gateway.kill("SIGTERM");
    }
  } finally {
    await provider.kill();
    rmSync(folder, { recursive: true });
  }
});
