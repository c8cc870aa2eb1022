import { equal, ok, throws } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { beginPaying } from "./one-payer.ts";
import { openStateFolder, type StateFolder } from "./state-folder.ts";

const home = mkdtempSync(join(tmpdir(), "infer-payer-"));
after(() => rmSync(home, { recursive: true }));
const folder = openStateFolder({ XDG_STATE_HOME: home });
const address = "0xAbC0000000000000000000000000000000000001";
const name = `paying-${address.toLowerCase()}.json`;
const { pid: dead } = spawnSync(process.execPath, ["--version"]);

test("one process pays at a time, and the next one when it has ended", () => {
  const end = beginPaying({ folder }, address);
  throws(() => beginPaying({ folder }, address), new RegExp(`process ${process.pid}\\) is paying`));
  end();
  beginPaying({ folder }, address)();
});

test("a dead process's place is taken over", () => {
  ok(folder.create(name, { pid: dead }));
  beginPaying({ folder }, address)();
  equal(folder.readJson(name), undefined);
});

test("of two that find the same dead process, the slower one leaves the place to the faster", () => {
  ok(folder.create(name, { pid: dead }));
  let end: (() => void) | undefined;
  const slow: StateFolder = {
    ...folder,
    readJson(file) {
      const read = folder.readJson(file);
      end ??= beginPaying({ folder }, address);
      return read;
    },
  };
  throws(() => beginPaying({ folder: slow }, address), /has just begun to pay/);
  equal((folder.readJson(name) as { pid: number }).pid, process.pid);
  end?.();
});
