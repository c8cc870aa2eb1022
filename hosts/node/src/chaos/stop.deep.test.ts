import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@inference/protocol/testing/eventually";
import { withSite } from "../testing/site.ts";
import { auditBooks } from "./books.ts";
import { askFor, gatewayUrl } from "./processes.ts";

test("SIGTERM under load: what is in flight is finished and settled, nothing new begins, and it ends with 0", () =>
  withSite(async ({ file, env, accounts, start }) => {
    const keys = await accounts(4, 1_000_000_000);
    const gateway = await start({ script: "../main.ts", env });
    const counts = { whole: 0, streams: 0, afterStop: 0, cut: 0 };
    let isStopping = false;
    let isClosed = false;
    const ask = async (key: string, stream: boolean): Promise<void> => {
      const afterStop = isClosed;
      const content = stream ? "[[tokens=100]] [[drip=10]]" : "[[delay=300]]";
      const response = await askFor(gatewayUrl(gateway.ready), key, { stream, maxTokens: 1_000, content });
      if (afterStop) counts.afterStop += 1;
      const text = await response.text();
      assert.equal(response.status, 200, text);
      if (stream && !text.includes("data: [DONE]")) counts.cut += 1;
      else if (stream) counts.streams += 1;
      else counts.whole += 1;
    };
    const clients = keys.flatMap(({ key }) =>
      [true, true, false, false].map(async (stream) => {
        for (;;) {
          try {
            await ask(key, stream);
          } catch (error) {
            // A closed port is how a client hears of the stop. An answer that was promised is never broken off.
            if (!isStopping || !(error instanceof TypeError)) throw error;
            isClosed = true;
            return;
          }
        }
      }),
    );
    await eventually(() => counts.whole > 20 && counts.streams > 8);
    isStopping = true;
    const { code } = await gateway.kill("SIGTERM");
    await Promise.all(clients);
    assert.equal(code, 0, gateway.stderr());
    assert.equal(counts.afterStop, 0, "requests were taken after the stop");
    assert.equal(counts.cut, 0, "a stream was cut off by the stop");
    const books = auditBooks(file);
    assert.deepEqual(books.problems, []);
    assert.equal(books.openHolds, 0);
    assert.equal(books.undelivered, 0);
    assert.equal(books.receipts, counts.whole + counts.streams);
    assert.ok(counts.whole > 20 && counts.streams > 8, JSON.stringify(counts));
    assert.equal(
      gateway
        .stderr()
        .split("\n")
        .filter((line) => /"alert"/.test(line) && !/"chain"/.test(line))
        .join("\n"),
      "",
    );
  }));
