import assert from "node:assert/strict";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { eventually } from "@inference/protocol/testing/eventually";
import { type LocalServer, listenLocally } from "@inference/protocol/testing/local-server";
import alerts, { type Alert, alertsOf } from "./beside/alerts.ts";
import { type Edge, startEdge } from "./testing/edge.ts";

/** Alerts leave the Worker: the gateway's log goes through a real tail consumer to a real webhook. */
const posted: { text: string; alerts: Alert[] }[] = [];
const server = createServer(async (request, response) => {
  posted.push(JSON.parse(await text(request)));
  response.end();
});
let receiver: LocalServer;
let edge: Edge;
before(async () => {
  receiver = await listenLocally(server);
  const url = `${receiver.url}/`;
  const entry = new URL("beside/alerts.ts", import.meta.url);
  edge = await startEdge({}, { beside: { ALERTS: { entry, settings: { ALERT_WEBHOOK_URL: url }, isTail: true } } });
});
after(async () => {
  await edge?.stop();
  await receiver.close();
});

test("an alert of the Worker is posted to the webhook once, and no other line is", async () => {
  const alert = { level: "alert", event: "chain", message: "the chain contradicts the ledger" };
  await edge.set({ say: JSON.stringify({ ...alert, level: "warn" }) });
  for (let times = 0; times < 3; times += 1) await edge.set({ say: JSON.stringify(alert) });
  await edge.set({ say: JSON.stringify({ ...alert, event: "loss" }) });
  await eventually(() => assert.equal(posted.flatMap(({ alerts }) => alerts).at(-1)?.event, "loss"));
  const events = posted.flatMap(({ alerts }) => alerts).filter(({ event }) => event === "chain");
  assert.deepEqual(
    events.map(({ message }) => message),
    [alert.message],
  );
  assert.match(posted[0]?.text ?? "", /^ALERT \{.*the chain contradicts the ledger/);
});

test("an alert that the webhook did not take is posted again when it comes again", async () => {
  const answers = [500, 200];
  const texts: string[] = [];
  const webhook = await listenLocally(
    createServer(async (request, response) => {
      texts.push(await text(request));
      response.writeHead(answers.shift() ?? 500).end();
    }),
  );
  const logs = [{ message: [JSON.stringify({ level: "alert", event: "untaken" })] }];
  const tail = () => alerts.tail([{ scriptName: "gateway", outcome: "ok", logs }], { ALERT_WEBHOOK_URL: webhook.url });
  await assert.rejects(tail(), /the webhook answered 500/);
  await tail();
  await tail();
  await webhook.close();
  assert.deepEqual(texts, [texts[0], texts[0]]);
});

test("an event that the runtime ended is an alert, and one whose client left is none", () => {
  const ended = (outcome: string) => alertsOf([{ scriptName: "gateway", outcome, logs: [{ message: ["no JSON"] }] }]);
  assert.deepEqual(ended("exceededCpu"), [{ worker: "gateway", event: "worker_ended", outcome: "exceededCpu" }]);
  for (const outcome of ["ok", "canceled", "responseStreamDisconnected"]) assert.deepEqual(ended(outcome), []);
});
