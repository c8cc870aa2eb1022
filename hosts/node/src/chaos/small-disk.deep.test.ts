import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "@inference/protocol/testing/eventually";
import { withSite } from "../testing/site.ts";
import { auditBooks } from "./books.ts";
import { askFor, gatewayUrl } from "./processes.ts";

/** A file system of 2 MiB for the gateway. A removable file takes half of it. */
const SMALL_DISK = `mount -t tmpfs -o size=2m tmpfs "$DISK" && cp -p "$BOOKS" "$DISK" &&
  head -c 1000000 /dev/zero > "$DISK/ballast" && exec "$@"`;
const OWN_MOUNTS = ["unshare", "--user", "--map-root-user", "--mount"] as const;
const [unshare, ...flags] = OWN_MOUNTS;
const canMount = spawnSync(unshare, [...flags, "mount", "-t", "tmpfs", "tmpfs", tmpdir()]).status === 0;
const skip = canMount ? false : "a user of this machine cannot mount a file system";

test("a disk that is really full refuses requests, and serves again when there is room", { skip }, () =>
  withSite(async ({ folder, file, env, accounts, start }) => {
    const disk = join(folder, "disk");
    mkdirSync(disk);
    const [{ key } = assert.fail()] = await accounts(1, 1_000_000_000);
    const gateway = await start({
      script: "../main.ts",
      env: { ...env, DATABASE_FILE: join(disk, "gateway.sqlite"), DISK: disk, BOOKS: file },
      under: [...OWN_MOUNTS, "sh", "-c", SMALL_DISK, "sh"],
    });
    const counts = { answered: 0, refused: 0 };
    const ask = async (): Promise<boolean> => {
      const response = await askFor(gatewayUrl(gateway.ready), key);
      const text = await response.text();
      if (response.status !== 200) assert.match(text, /"code":"ledger_unavailable"/);
      counts[response.status === 200 ? "answered" : "refused"] += 1;
      return response.status === 200;
    };
    while (await ask());
    assert.match(gateway.stderr(), /the disk is full: nothing new is admitted until there is room/);
    assert.equal(await ask(), false);
    // The gateway's process sees its own mounts, and /proc shows them.
    const inside = `/proc/${gateway.child.pid}/root${disk}`;
    rmSync(`${inside}/ballast`);
    await eventually(ask);
    const copy = join(folder, "copy.sqlite");
    await eventually(() => {
      for (const end of ["", "-wal"]) copyFileSync(`${inside}/gateway.sqlite${end}`, `${copy}${end}`);
      const { problems, openHolds, receipts } = auditBooks(copy);
      assert.deepEqual(problems, []);
      assert.equal(openHolds, 0);
      // A settle whose answer was refused may have been written later, as a release.
      assert.ok(receipts >= counts.answered && receipts <= counts.answered + counts.refused, `${receipts} receipts`);
    });
    assert.equal((await gateway.kill("SIGTERM")).code, 0, gateway.stderr());
  }),
);
