import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { type Account, openAccount, readReceipts, spentBy } from "./account.ts";
import { openTarget, type Target } from "./target.ts";
import { codexTasks, runCodex } from "./testing/codex.ts";
import { recordingOf } from "./testing/codex-recording.ts";

/**
 * The real Codex command line. It has 404 MB, so it is no dependency: `CODEX` names the program. Its
 * requests are recorded (`CODEX_RECORD` names the file) and replayed without it in `gateway/test/suites/codex.ts`.
 */
const { CODEX: program = "", CODEX_RECORD: record } = process.env;
const skip = program === "" ? "Codex: CODEX names no program" : false;

describe("Codex", { skip }, () => {
  let target: Target;
  let account: Account;
  const recorded: Record<string, object> = {};
  before(async () => {
    target = await openTarget();
    account = await openAccount(target, 5);
  });
  after(async () => {
    await target?.close();
    if (record !== undefined) writeFileSync(record, `${JSON.stringify(recorded, null, 1)}\n`);
  });

  for (const [name, task] of Object.entries(codexTasks)) {
    test(`reads a file, applies a patch and finishes, ${name}`, async () => {
      const { key } = await account.makeKey();
      const { code, said, file, bodies } = await runCodex(program, { url: target.url, key }, task);
      assert.equal(file, "one\nzwei\nthree\n", said);
      assert.equal(code, 0, said);
      assert.match(said, /Done: the second line is zwei\./);
      assert.equal(bodies.length, 3);
      const receipts = await readReceipts(target, key);
      assert.equal(receipts.length, 3);
      assert.equal(
        await spentBy(target, key),
        receipts.reduce((sum, receipt) => sum + receipt.charge_nano_usd, 0),
      );
      recorded[name] = recordingOf(bodies);
    });
  }

  test("lists the tools of the MCP server, and calls them", async () => {
    const { key } = await account.makeKey();
    const chat = { model: "sim-small", max_tokens: 20, messages: [{ role: "user", content: "A word on harbours." }] };
    const calls = [
      { name: "mcp__gateway__credits", arguments: {} },
      { name: "mcp__gateway__chat", arguments: chat },
    ];
    const task = { model: "sim-small", script: [{ calls }, { say: "Done." }], mcp: true };
    const { code, said, bodies } = await runCodex(program, { url: target.url, key }, task);
    assert.equal(code, 0, said);
    const offered = bodies[0]?.tools as { name: string; tools?: { name: string }[] }[];
    const tools = offered.find(({ name }) => name === "mcp__gateway")?.tools ?? [];
    const names = ["chat", "credits", "models", "prices", "quote", "receipt", "spending", "verify"];
    assert.deepEqual(tools.map(({ name }) => name).sort(), names, said);
    const input = (bodies.at(-1)?.input ?? []) as { type: string }[];
    const outputs = input.filter(({ type }) => type === "function_call_output");
    assert.equal(outputs.length, 2);
    assert.match(JSON.stringify(outputs[0]), /total_credits_nano_usd/);
    assert.match(JSON.stringify(outputs[1]), /chat\.completion/);
    const receipts = await readReceipts(target, key);
    assert.equal(receipts.length, bodies.length + 1);
    assert.ok(receipts.every(({ charge_nano_usd }) => charge_nano_usd > 0));
  });

  test("shows what we say of a budget that is spent, and ends", async () => {
    const { key } = await account.makeKey("limit=0.000001");
    const task = { model: "sim-small", script: [{ say: "Never." }] };
    const { code, said, statuses } = await runCodex(program, { url: target.url, key }, task);
    assert.notEqual(code, 0);
    assert.match(said, /left of this key's limit/, said);
    assert.ok(statuses.length <= 6 && statuses.every((status) => status === 402), String(statuses));
    assert.equal(await spentBy(target, key), 0);
  });
});
