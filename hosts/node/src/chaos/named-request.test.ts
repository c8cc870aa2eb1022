import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestAccount } from "@inference/gateway/test/fund";
import { openDatabase } from "../database.ts";
import { withSite } from "../testing/site.ts";
import { auditBooks } from "./books.ts";
import { askFor, gatewayUrl, nothingHeld, type Running } from "./processes.ts";
import type { CrashPoint } from "./victim.ts";

/** Requests with an `Idempotency-Key` whose gateway dies under them, sent again to the next one until it answers. */
type Cut = CrashPoint & { stream: boolean; ends: "served anew" | "replayed" | "known as paid" };

const allCuts: readonly Cut[] = [
  // Nothing is durable: the request never was.
  { stream: false, stage: "before", commit: 1, ends: "served anew" },
  // Held, and then let go, for no answer was seen to leave.
  { stream: false, stage: "after", commit: 1, ends: "served anew" },
  { stream: false, stage: "before", commit: 2, ends: "served anew" },
  { stream: false, stage: "after", commit: 2, ends: "replayed" },
  { stream: true, stage: "after", commit: 1, ends: "served anew" },
  { stream: true, stage: "after", commit: 2, ends: "served anew" },
  { stream: true, stage: "after", commit: 3, ends: "known as paid" },
];
/** Outside the deep run one for each end. */
const cuts = process.env.DEEP === "1" ? allCuts : allCuts.filter((_, index) => index % 3 === 0);

test("a named request is paid once, whichever of its commits its gateway died at, and its client learns of it", () =>
  withSite(async ({ file, env, accounts, start }) => {
    const keys = await accounts(cuts.length, 1_000_000);
    let gateway = await start({ script: "./victim.ts", env });
    for (const [index, cut] of cuts.entries()) {
      const where = JSON.stringify(cut);
      const key = keys[index] ?? assert.fail();
      gateway.child.send({ stage: cut.stage, commit: cut.commit } satisfies CrashPoint);
      await new Promise((resolve) => gateway.child.once("message", resolve));
      await post(gateway, key, cut.stream).catch(() => undefined);
      assert.equal((await gateway.ended).signal, "SIGKILL", where);
      gateway = await start({ script: "./victim.ts", env });
      checkEnd(cut, await postUntilAnswered(gateway, key, cut.stream), where);
      // The last commit of one cut is not to be counted as the next one's.
      await nothingHeld(gateway, [key]);
    }
    assert.equal((await gateway.kill("SIGTERM")).code, 0, gateway.stderr());
    const { problems, openHolds } = auditBooks(file);
    assert.deepEqual([problems, openHolds], [[], 0]);
    for (const [index, cut] of cuts.entries()) {
      assert.equal(chargesOf(file, keys[index]).length, 1, JSON.stringify(cut));
    }
  }));

type Said = { status: number; isReplayed: boolean; text: string };

async function post(gateway: Running, { key }: TestAccount, stream: boolean): Promise<Said> {
  const headers = { "idempotency-key": "once" };
  const response = await askFor(gatewayUrl(gateway.ready), key, { stream, maxTokens: 100, headers });
  const isReplayed = response.headers.get("idempotent-replayed") === "true";
  return { status: response.status, isReplayed, text: await response.text() };
}

/** Repeats the request like a client that is told to wait a second, only sooner. */
async function postUntilAnswered(gateway: Running, key: TestAccount, stream: boolean): Promise<Said> {
  for (let tries = 0; tries < 500; tries++) {
    const said = await post(gateway, key, stream);
    if (!said.text.includes('"code":"idempotency_in_progress"')) return said;
    await sleep(20);
  }
  return assert.fail("it is in progress for ever");
}

function checkEnd({ ends, stream }: Cut, { status, isReplayed, text }: Said, where: string): void {
  if (ends === "known as paid") {
    assert.equal(status, 409, where);
    assert.match(text, /"code":"idempotency_completed".*"request_id":"req_/, where);
    return;
  }
  assert.deepEqual([status, isReplayed], [200, ends === "replayed"], `${where} ${text}`);
  assert.match(text, stream ? /data: \[DONE\]/ : /"usage":/, where);
}

/** The charges of an account, request by request. */
function chargesOf(file: string, key: TestAccount | undefined): unknown[] {
  const database = openDatabase(file);
  try {
    const sql = "SELECT charge_nano_usd FROM receipt_row WHERE partition = ? AND charge_nano_usd > 0";
    return database.prepare(sql).all(`account:${key?.address}`);
  } finally {
    database.close();
  }
}
