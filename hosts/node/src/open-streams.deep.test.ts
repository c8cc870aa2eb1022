import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { chatRequestBytes, sendHttp, type WireAnswer } from "@inference/gateway/test/http-client";
import { eventually } from "@inference/protocol/testing/eventually";
import { gatewayUrl } from "./chaos/processes.ts";
import type { Measured } from "./testing/neighbours/measured-gateway.ts";
import { withSite } from "./testing/site.ts";

/**
 * As many open streams as a gateway takes: 10,000 connections of clients, or as many as a process may have open files.
 * Each stream has one to its client and one to the provider.
 */
/** Connections for requests beside them. */
const SPARE = 50;
/** Other open files of a process. */
const OTHER_FILES = 200;
const STREAMS = Math.min(10_000 - SPARE, mostStreams());
const STREAMS_EACH = 25;
const TOKEN = "an-operators-token";

function mostStreams(): number {
  const { userLimits } = process.report.getReport() as { userLimits: { open_files: { soft: number | "unlimited" } } };
  const { soft } = userLimits.open_files;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Math.floor((soft - OTHER_FILES) / 2) - SPARE;
}

test(`${STREAMS} open streams: each gets its answer, others are served, and nothing of them stays`, (t) =>
  withSite(async ({ env, accounts, start }) => {
    const keys = await accounts(Math.ceil(STREAMS / STREAMS_EACH) + 1, 1_000_000_000);
    const spare = keys.pop()?.key ?? assert.fail();
    const gateway = await start({
      script: "../testing/neighbours/measured-gateway.ts",
      env: { ...env, METRICS_TOKEN: TOKEN, UPSTREAM_MODEL_REQUESTS: "0", DRAIN_MS: "1000" },
    });
    const sockets: Socket[] = [];
    const url = gatewayUrl(gateway.ready);
    const body = (content: string, stream: boolean): object => ({
      ...{ model: "sim-small", max_tokens: 50, stream },
      messages: [{ role: "user", content }],
    });
    const served = async (): Promise<void> => {
      const headers = { authorization: `Bearer ${spare}`, "content-type": "application/json", connection: "close" };
      const text = JSON.stringify(body("[[tokens=2]]", false));
      const answer = await sendHttp(url, { path: "/v1/chat/completions", headers, body: text });
      assert.equal(answer.status, 200, answer.text);
    };
    const metrics = (): Promise<WireAnswer> =>
      sendHttp(url, { path: "/metrics", headers: { authorization: `Bearer ${TOKEN}`, connection: "close" } });
    const residentMib = async (): Promise<number> => {
      gateway.child.send("measure");
      const [measured] = (await once(gateway.child, "message")) as [Measured];
      return measured.rssMib;
    };
    for (let left = 50; left > 0; left--) await served();
    const before = await residentMib();

    const heads: string[] = [];
    for (let index = 0; index < STREAMS; index++) {
      const { key } = keys[index % keys.length] ?? assert.fail();
      // Not all at once: the kernel drops what its queue of new connections does not hold.
      if (index - heads.length > 200) await eventually(() => index - heads.length <= 100);
      const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => undefined);
      socket.write(chatRequestBytes(key, body("[[fault=stall]]", true)));
      socket.once("data", (bytes: Buffer) => heads.push(bytes.toString("latin1", 0, 12)));
      sockets.push(socket);
    }
    await eventually(() => heads.length === STREAMS);
    assert.deepEqual([...new Set(heads)], ["HTTP/1.1 200"]);
    assert.match((await metrics()).text, new RegExp(`^inference_gateway_requests_in_flight ${STREAMS}$`, "m"));
    await served();
    const kibEach = ((await residentMib()) - before) * (1024 / STREAMS);
    t.diagnostic(`${kibEach.toFixed(0)} KiB of the process for each stream`);
    assert.ok(kibEach < MOST_KIB_EACH, `${kibEach.toFixed(0)} KiB for each`);

    for (const socket of sockets) socket.destroy();
    // The gateway reads on for a while.
    await eventually(async () => (await metrics()).text.includes("requests_in_flight 0\n"));
    await served();
    assert.doesNotMatch(gateway.stderr(), /"alert","event":"(settle_failed|ledger|internal_error)"/);
  }));

/** Resident memory may include memory that the collector has not returned. */
const MOST_KIB_EACH = 128;
