import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { formatUsd } from "@inference/protocol/money";
import { utcDay, windowStart } from "@inference/protocol/window";
import { debitAll, type TestAccount } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { settledOf } from "../settlement/audit.ts";

/** The pages about a client's spending: receipts, lists, totals, and totals after the receipts are deleted. */
const USD = 1_000_000_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

type Page = { data: Record<string, unknown>[]; next_cursor: string | null };

export function testActivity(start: StartHost): void {
  describe("what a client reads of what it has spent", () => {
    const host = hostFor(start);
    before(() => host.goTo(windowStart("day", host.now()) + 1.5 * DAY_MS));

    async function chat(
      account: TestAccount,
      model = "sim-small",
      tokens = 10,
    ): Promise<{ id: string; answerId: string }> {
      const messages = [{ role: "user", content: `hello [[tokens=${tokens}]]` }];
      const answer = await host.call("/v1/chat/completions", {
        key: account.key,
        body: { model, messages, max_tokens: 50 },
      });
      assert.equal(answer.status, 200, await answer.clone().text());
      const { id } = (await answer.json()) as { id: string };
      return { id: answer.headers.get("x-request-id") ?? "", answerId: id };
    }

    async function read(account: TestAccount, path: string): Promise<Page> {
      const answer = await host.call(path, { key: account.key });
      assert.equal(answer.status, 200, await answer.clone().text());
      return (await answer.json()) as Page;
    }

    async function error(account: TestAccount, path: string): Promise<[number, unknown]> {
      const answer = await host.call(path, { key: account.key });
      return [answer.status, ((await answer.json()) as { error: { code: string } }).error.code];
    }

    test("a receipt is found by our id and by the id in the answer's body, whole or streamed, and by nobody else", async () => {
      const [account, other] = [await host.account(USD), await host.account(USD)];
      const whole = await chat(account);
      const body = { model: "sim-small", messages: [{ role: "user", content: "hi" }], max_tokens: 20, stream: true };
      const streamed = await host.call("/v1/chat/completions", { key: account.key, body });
      const streamedId = /"id":"([^"]+)"/.exec(await streamed.text())?.[1] ?? "";
      const settled = await settledOf(host, account.address);
      assert.equal(settled.length, 2);
      for (const [name, id] of [
        [whole.id, whole.id],
        [whole.answerId, whole.id],
        [streamedId, streamed.headers.get("x-request-id")],
      ]) {
        const path = `/api/v1/generation?id=${name}`;
        const { data } = (await read(account, path)) as unknown as { data: { id: string } };
        assert.equal(data.id, id);
        assert.deepEqual(await error(other, path), [404, "not_found"]);
      }
    });

    test("the list has every receipt once, the newest first, whatever the page's length", async () => {
      const account = await host.account(USD);
      const made: string[] = [];
      for (let left = 5; left > 0; left--) made.unshift((await chat(account)).id);
      for (const limit of [1, 2, 5, 100]) {
        const seen: unknown[] = [];
        let cursor: string | null = "";
        for (let pages = 0; cursor !== null; pages++) {
          assert.ok(pages <= 5, "pages without end");
          const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
          const page: Page = await read(account, `/api/v1/activity?limit=${limit}${more}`);
          assert.ok(page.data.length <= limit);
          seen.push(...page.data.map(({ id }) => id));
          cursor = page.next_cursor;
        }
        assert.deepEqual(seen, made);
      }
    });

    test("totals by day, model and key are the receipts', to the nano-dollar, and the balance's", async () => {
      const account = await host.account(USD);
      for (const [model, tokens] of [
        ["sim-small", 10],
        ["sim-large", 7],
        ["sim-small", 20],
      ] as const)
        await chat(account, model, tokens);
      await host.goTo(host.now() + DAY_MS);
      await chat(account, "sim-small", 30);
      const receipts = (await read(account, "/api/v1/activity")).data;
      assert.equal(receipts.length, 4);
      for (const [group, column] of [
        ["day", "date"],
        ["model", "model"],
        ["key", "key_id"],
        ["tag", "tag"],
      ] as const) {
        const { data } = await read(account, `/api/v1/activity?group_by=${group}`);
        const expected = Map.groupBy(receipts, (receipt) =>
          group === "day" ? String(receipt.created_at).slice(0, 10) : receipt[column],
        );
        assert.equal(data.length, expected.size);
        for (const total of data) {
          const own = expected.get(total[column]) ?? [];
          const sumOf = (name: string): number => own.reduce((sum, receipt) => sum + Number(receipt[name]), 0);
          assert.equal(total.requests, own.length);
          assert.equal(total.usage_nano_usd, sumOf("charge_nano_usd"));
          assert.equal(total.prompt_tokens, sumOf("tokens_prompt"));
          assert.equal(total.completion_tokens, sumOf("tokens_completion"));
        }
      }
      const all = (await read(account, "/api/v1/activity?group_by=day,model,key")).data;
      assert.deepEqual(
        all.map(({ date, model, requests }) => [date, model, requests]),
        [
          [utcDay(host.now()), "sim-small", 1],
          [utcDay(host.now() - DAY_MS), "sim-large", 1],
          [utcDay(host.now() - DAY_MS), "sim-small", 2],
        ],
      );
      const { settledNanoUsd } = await host.balance(account.address);
      assert.equal(
        all.reduce((sum, total) => sum + Number(total.usage_nano_usd), 0),
        settledNanoUsd,
      );
      const small = await read(account, "/api/v1/activity?group_by=model&model=sim-small");
      assert.deepEqual(
        small.data.map(({ model, requests }) => [model, requests]),
        [["sim-small", 3]],
      );
      const lastDay = await read(account, `/api/v1/activity?from=${utcDay(host.now())}&to=${utcDay(host.now())}`);
      assert.deepEqual(
        lastDay.data.map(({ id }) => id),
        [receipts[0]?.id],
      );
    });

    test("a request's title is its tag: receipts show it, totals group by it, and the provider never sees it", async () => {
      const account = await host.account(USD);
      const ask = async (title: string | undefined, content: string, stream = false) => {
        const answer = await host.call("/v1/chat/completions", {
          key: account.key,
          body: { model: "sim-small", messages: [{ role: "user", content }], max_tokens: 20, stream },
          headers: title === undefined ? {} : { "x-title": title },
        });
        const text = await answer.text();
        assert.equal(answer.status, 200, text);
        const [record] = host.simulator.simulator.records.select(({ method }) => method === "POST", 1);
        assert.doesNotMatch(JSON.stringify([record?.headers, record?.body]), /project/);
        return { id: answer.headers.get("x-request-id"), ignored: answer.headers.get("x-ignored-parameters") };
      };
      const first = await ask("project one", "hi");
      await ask("project one", "hi", true);
      await ask("project 2", "[[fault=500]]").catch(() => undefined);
      await ask(undefined, "hi");
      for (const title of ["p".repeat(65), "é", "=1+1", "x;=1+1", "other"])
        assert.equal((await ask(title, "hi")).ignored, "X-Title");
      assert.deepEqual([first.ignored, (await ask("p".repeat(64), "hi")).ignored], [null, null]);
      await settledOf(host, account.address);
      const one = (await read(account, `/api/v1/generation?id=${first.id}`)) as unknown as { data: { tag: unknown } };
      assert.equal(one.data.tag, "project one");
      const receipts = (await read(account, "/api/v1/activity")).data;
      const own = (await read(account, "/api/v1/activity?tag=project%20one")).data;
      assert.deepEqual(
        own,
        receipts.filter(({ tag }) => tag === "project one"),
      );
      assert.equal(own.length, 2);
      const totals = (await read(account, "/api/v1/activity?group_by=tag,day")).data;
      // A free request has no tag in totals.
      const expected = Map.groupBy(receipts, ({ tag, charge_nano_usd: charge }) => (Number(charge) === 0 ? null : tag));
      assert.deepEqual(new Set(totals.map(({ tag }) => tag)), new Set(expected.keys()));
      for (const { tag, requests, usage_nano_usd: spent } of totals) {
        const charges = expected.get(tag)?.map((receipt) => Number(receipt.charge_nano_usd)) ?? [];
        assert.deepEqual([requests, spent], [charges.length, charges.reduce((sum, charge) => sum + charge, 0)]);
      }
      const { data } = await read(account, "/api/v1/activity?group_by=tag&tag=project%20one");
      assert.deepEqual(
        data.map(({ tag, requests }) => [tag, requests]),
        [["project one", 2]],
      );
    });

    test("an answer tells the balance: whole after its charge, streamed after its hold, refused or failed as it is", async () => {
      const account = await host.account(USD / 100);
      const left = async () => (await host.balance(account.address)).availableNanoUsd ?? 0;
      const ask = async (more: object, content = "hi [[tokens=5]]") => {
        const body = { model: "sim-small", messages: [{ role: "user", content }], max_tokens: 20, ...more };
        const answer = await host.call("/v1/chat/completions", { key: account.key, body });
        const text = await answer.text();
        return { status: answer.status, text, told: answer.headers.get("x-balance-usd"), headers: answer.headers };
      };
      const whole = await ask({});
      assert.equal(whole.told, formatUsd(await left()));
      assert.match(whole.headers.get("access-control-expose-headers") ?? "", /\bx-balance-usd\b/);
      const before = await left();
      const streamed = await ask({ stream: true });
      const settled = await settledOf(host, account.address);
      const held = settled.find(({ receipt }) => receipt.id === streamed.headers.get("x-request-id"))?.receipt
        .heldNanoUsd;
      assert.equal(streamed.told, formatUsd(before - (held ?? 0)));
      const after = await left();
      const failed = await ask({}, "[[fault=500]]");
      assert.deepEqual([failed.status >= 500, failed.told], [true, formatUsd(after)]);
      const refused = await ask({ max_tokens: 16_000, n: 8 });
      assert.deepEqual([refused.status, refused.told], [402, formatUsd(after)], refused.text);
      for (const path of ["/api/v1/credits", "/api/v1/key"]) {
        const answer = await host.call(path, { key: account.key });
        assert.equal(answer.headers.get("x-balance-usd"), formatUsd(after), path);
      }
      const session = await host.openSession(account.address, { expiresAt: host.now() + DAY_MS });
      const answer = await host.call("/api/v1/key", { key: session });
      assert.equal(answer.headers.get("x-balance-usd"), null, "a session spends a capacity");
    });

    test("as CSV, by parameter or by Accept, it is the same rows", async () => {
      const account = await host.account(USD);
      for (let left = 3; left > 0; left--) await chat(account);
      const { data, next_cursor } = await read(account, "/api/v1/activity?limit=2");
      const asked = { key: account.key };
      const answer = await host.call("/api/v1/activity?limit=2&format=csv", asked);
      assert.match(answer.headers.get("content-type") ?? "", /^text\/csv/);
      assert.equal(answer.headers.get("x-next-cursor"), next_cursor);
      const [head = "", ...rows] = (await answer.text()).split("\r\n");
      const columns = head.split(",");
      assert.equal(rows.pop(), "");
      assert.deepEqual(
        rows.map((row) => row.split(",")),
        data.map((receipt) => columns.map((column) => String(receipt[column] ?? ""))),
      );
      const accepting = await fetch(`${host.url}/api/v1/activity?group_by=day`, {
        headers: { authorization: `Bearer ${account.key}`, accept: "text/csv, */*;q=0.1" },
      });
      const [names, day] = (await accepting.text()).split("\r\n");
      assert.equal(names, "date,requests,usage,usage_nano_usd,prompt_tokens,completion_tokens");
      assert.match(day ?? "", /^\d{4}-\d\d-\d\d,3,0\.\d+,\d+,\d+,30$/);
    });

    test("forgetting receipts whose time is over leaves every total, and the balance, as they were", async () => {
      const account = await host.account(USD);
      for (let left = 3; left > 0; left--) await chat(account);
      const day = utcDay(host.now());
      const path = `/api/v1/activity?group_by=day,model,key&from=${day}&to=${day}`;
      const totals = await read(account, path);
      const balance = await host.balance(account.address);
      assert.equal((await read(account, "/api/v1/activity")).data.length, 3);
      await host.goTo(host.now() + 30 * DAY_MS - MINUTE_MS);
      await host.forget([accountPartition(account.address)]);
      assert.equal(
        (await read(account, `/api/v1/activity?from=${day}&to=${day}`)).data.length,
        3,
        "not a moment sooner",
      );
      await host.goTo(host.now() + DAY_MS + 2 * MINUTE_MS);
      await host.forget([accountPartition(account.address)]);
      const kept = await read(account, `/api/v1/activity?from=${day}&to=${day}`);
      assert.equal(kept.data.length, 3, "not before they are debited");
      await debitAll(host, account.address);
      await host.goTo(host.now() + DAY_MS);
      await host.forget([accountPartition(account.address)]);
      assert.deepEqual(await read(account, `/api/v1/activity?from=${day}&to=${day}`), { data: [], next_cursor: null });
      assert.deepEqual(await read(account, path), totals);
      const { settledNanoUsd } = await host.balance(account.address);
      assert.equal(settledNanoUsd, balance.settledNanoUsd);
    });

    test("a revoked key is forgotten after 48 hours, and what was spent with it stays told under its id", async () => {
      const account = await host.account(USD);
      await chat(account);
      const { data } = (await read(account, "/api/v1/key")) as unknown as { data: { id: string } };
      const partition = accountPartition(account.address);
      const text = await host.openSession(account.address, { expiresAt: host.now() + 4 * DAY_MS });
      const path = `/api/v1/activity?group_by=day,key&from=${utcDay(host.now())}&to=${utcDay(host.now())}`;
      const told = () => read({ ...account, key: text }, path);
      const before = await told();
      assert.equal(before.data[0]?.key_id, data.id);
      const revoked = await host.call(`/api/v1/keys/${data.id}`, { key: text, method: "DELETE" });
      assert.equal(revoked.status, 200);
      const rows = async () => (await Promise.all(kept.map((table) => host.rows(table, partition)))).flat();
      const kept = ["key", "secret", "counter"] as const;
      const ofKey = async () => (await rows()).filter((row) => JSON.stringify(row).includes(data.id));
      await host.goTo(host.now() + 2 * DAY_MS - MINUTE_MS);
      await host.forget([partition]);
      assert.equal((await ofKey()).length, 3);
      await host.goTo(host.now() + DAY_MS + 2 * MINUTE_MS);
      await host.forget([partition]);
      assert.deepEqual(await ofKey(), []);
      assert.deepEqual(await error(account, "/api/v1/key"), [401, "invalid_api_key"]);
      assert.deepEqual(await told(), before);
    });

    test("what is wrong with a query is told to whom the ledger knows", async () => {
      const account = await host.account(USD);
      const mistyped = account.key.slice(0, -1) + (account.key.endsWith("x") ? "y" : "x");
      for (const credential of [undefined, "nonsense", mistyped]) {
        const answer = await host.call(
          "/api/v1/activity?from=nonsense",
          credential === undefined ? {} : { key: credential },
        );
        assert.equal(answer.status, 401, credential);
      }
      assert.deepEqual(await error(account, "/api/v1/activity?from=nonsense"), [400, "invalid_request"]);
    });

    for (const [query, code] of [
      ["from=2026-13-01", "invalid_request"],
      ["from=2026-11-02&to=2026-11-01", "invalid_request"],
      ["from=2025-11-20&to=2026-11-21", "invalid_request"],
      ["limit=0", "invalid_request"],
      ["limit=1001", "invalid_request"],
      ["limit=ten", "invalid_request"],
      ["group_by=week", "invalid_request"],
      ["cursor=yesterday", "invalid_request"],
      ["format=xml", "invalid_request"],
      ["page=2", "unsupported_parameter"],
    ] as const) {
      test(`${query} is 400 ${code}`, async () => {
        assert.deepEqual(await error(await host.account(USD), `/api/v1/activity?${query}`), [400, code]);
      });
    }

    test("days before there were any requests are read as any others", async () => {
      const account = await host.account(USD);
      await chat(account);
      assert.deepEqual((await read(account, "/api/v1/activity?from=0001-01-01&to=0001-12-31")).data, []);
      assert.deepEqual((await read(account, "/api/v1/activity?from=9999-01-01&to=9999-12-31")).data, []);
      const year = utcDay(host.now()).slice(0, 4);
      assert.equal((await read(account, `/api/v1/activity?from=${year}-01-01&to=${year}-12-31`)).data.length, 1);
    });

    test("a year is the longest time: 366 days are read, 367 are not", async () => {
      const account = await host.account(USD);
      assert.deepEqual((await read(account, "/api/v1/activity?from=2024-01-01&to=2024-12-31")).data, []);
      assert.deepEqual(await error(account, "/api/v1/activity?from=2024-01-01&to=2025-01-01"), [
        400,
        "invalid_request",
      ]);
    });
  });
}
