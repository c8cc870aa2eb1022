import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "viem";
import { openAccount, readReceipt, spentBy } from "../account.ts";
import type { Calls } from "../clients/client.ts";
import { openai } from "../clients/openai.ts";
import { readDocumentedErrors } from "../documented-errors.ts";
import { checkExchange, type Exchange } from "../exchange.ts";
import type { Target } from "../target.ts";
import { makeWire } from "../wire.ts";

export type DeploymentCheck = {
  url: string;
  /** A wallet with a dollar of credit at the gateway. It signs for a key, which is revoked at the end. */
  privateKey: Hex;
  /** A text model; the cheapest if undefined. */
  model?: string | undefined;
  /** The version of a Worker that serves the calls, as `name=id`; the deployed ones if undefined. */
  worker?: string | undefined;
  /** A shell command that deploys the gateway again while streams are open. */
  deploy?: string | undefined;
  say(line: string): void;
};

/** Milliseconds of each call, by what was measured. */
type Times = Record<string, number[]>;

const SEQUENTIAL = 10;
const AT_ONCE = 8;
const STREAMS_WHILE_DEPLOYED = 20;
/** A short answer is not asked for again at once. */
const STREAM_EVERY_MS = 1_000;
/** New isolates take over within this time after the command. */
const SETTLING_MS = 10_000;
/** The terms of the check's key. */
const TERMS = "name=check-deployment&limit=1.00";

/** Calls a deployment as its clients do, and compares its receipts with the calls. Returns the problems. */
export async function checkDeployment(options: DeploymentCheck): Promise<string[]> {
  const { url, privateKey, deploy, say } = options;
  const problems: string[] = [];
  await checkHealth(url, problems);
  const documentedErrors = await readDocumentedErrors(url);
  const target: Target = {
    ...{ url, documentedErrors, wallets: [privateKey], agentToken: null, front: null, undo: [] },
    close: async () => undefined,
  };
  const account = await openAccount(target, 0);
  try {
    const { key } = await account.makeKey(TERMS);
    const wire = makeWire(versionHeader(options.worker));
    const client = await openai.open({ baseUrl: `${url}/api/v1`, apiKey: key, wire, retries: 0 });
    const model = options.model ?? (await cheapestModel(url));
    const times: Times = {};
    await callAll(client, { model, times, problems, url, key, fetch: wire.fetch });
    say(`${wire.exchanges.length} calls of ${model}`);
    for (const [name, measured] of Object.entries(times)) say(`${name.padEnd(30)} ${percentiles(measured)}`);
    for (const exchange of wire.exchanges) attempt(problems, () => checkExchange(exchange, target));
    await checkBooks(target, key, wire.exchanges, { problems, say });
    if (deploy !== undefined) {
      const { key: other } = await account.makeKey(TERMS);
      await checkWhileDeployed(target, { key: other, model, deploy, problems, say });
    }
  } finally {
    for (const step of target.undo) {
      await step().catch((error: unknown) => problems.push(`the keys may not be revoked: ${String(error)}`));
    }
  }
  return problems;
}

/** Cloudflare's header for a version that has no share of the requests, or a small one. */
function versionHeader(version: string | undefined): Record<string, string> {
  if (version === undefined) return {};
  const [name, id] = version.split("=", 2);
  return { "cloudflare-workers-version-overrides": `${name}="${id}"` };
}

/** Throws if there is no gateway. */
async function checkHealth(url: string, problems: string[]): Promise<void> {
  const response = await fetch(`${url}/healthz`).catch((error: Error) => {
    throw new Error(`${url}/healthz cannot be reached: ${String(error.cause ?? error)}`);
  });
  const text = await response.text();
  const health = healthOf(text);
  if (typeof health?.checks !== "object") {
    throw new Error(`${url}/healthz does not answer as a gateway does: ${response.status} ${text.slice(0, 200)}`);
  }
  if (health.status !== "ok") problems.push(`/healthz says ${text}`);
}

function healthOf(text: string): { status?: unknown; checks?: unknown } | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

type Model = { id: string; type: string; pricing: { completion?: string } };

async function cheapestModel(url: string): Promise<string> {
  const { data } = (await (await fetch(`${url}/api/v1/models`)).json()) as { data: Model[] };
  const texts = data.filter(({ type, pricing }) => type === "text" && Number(pricing.completion) > 0);
  const [model] = texts.sort((one, other) => Number(one.pricing.completion) - Number(other.pricing.completion));
  if (model === undefined) throw new Error("The gateway lists no text model with a price.");
  return model.id;
}

type Calling = { model: string; times: Times; problems: string[]; url: string; key: string; fetch: typeof fetch };

/** 42 calls: 2 of models, 36 of chat, 2 that must be refused, and 2 with one `Idempotency-Key`. */
async function callAll(client: Calls, { model, times, problems, url, key, fetch: send }: Calling): Promise<void> {
  const ask = { model, text: "Say hello.", maxTokens: 32 };
  const measure = async (name: string, call: () => Promise<unknown>): Promise<void> => {
    const startedAt = performance.now();
    try {
      await call();
      push(times, name, performance.now() - startedAt);
    } catch (error) {
      problems.push(`${name}: ${String(error)}`);
    }
  };
  const whole = (name: string) => measure(name, () => client.chat(ask));
  const stream = (name: string) => {
    const startedAt = performance.now();
    let first = true;
    return measure(`${name}, whole`, () =>
      client.streamChat(ask, () => {
        if (first) push(times, `${name}, first text`, performance.now() - startedAt);
        first = false;
      }),
    );
  };
  await measure("models", () => client.models());
  await measure("one model", () => client.findModel(model));
  for (let n = 0; n < SEQUENTIAL; n += 1) await whole("chat");
  for (let n = 0; n < SEQUENTIAL; n += 1) await stream("stream");
  await Promise.all(Array.from({ length: AT_ONCE }, () => whole(`chat, ${AT_ONCE} at once`)));
  await Promise.all(Array.from({ length: AT_ONCE }, () => stream(`stream, ${AT_ONCE} at once`)));
  const post = (more: object, headers: object, credential = key) =>
    send(`${url}/api/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${credential}`, ...headers },
      body: JSON.stringify({ model, max_tokens: 32, messages: [{ role: "user", content: "Say hello." }], ...more }),
    });
  const refused = [await post({ model: "no-such-model" }, {}), await post({}, {}, `${key}x`)];
  const statuses = refused.map(({ status }) => status).join(", ");
  if (statuses !== "404, 401") problems.push(`an unknown model and a wrong key are answered with ${statuses}`);
  const name = { "idempotency-key": `check-${Date.now()}` };
  const texts = [await (await post({}, name)).text(), await (await post({}, name)).text()];
  if (texts[0] !== texts[1]) problems.push("a request that is repeated with its Idempotency-Key has another answer");
}

/** Each answer with 200 has one receipt, and the receipts add up to the key's spend. */
async function checkBooks(
  target: Target,
  key: string,
  exchanges: readonly Exchange[],
  { problems, say }: Pick<DeploymentCheck, "say"> & { problems: string[] },
): Promise<void> {
  const paid = exchanges.filter(({ method, status }) => method === "POST" && status === 200);
  const ids = paid
    .filter(({ headers }) => headers.get("idempotent-replayed") !== "true")
    .map(({ headers }) => headers.get("x-request-id") ?? "none");
  try {
    const spent = await spentBy(target, key);
    let charged = 0;
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      const some = ids.slice(from, from + AT_ONCE);
      const receipts = await Promise.all(some.map((id) => readReceipt(target, key, id)));
      for (const { charge_nano_usd } of receipts) charged += charge_nano_usd;
    }
    if (spent !== charged) problems.push(`the key has spent ${spent} nano-dollars, its receipts say ${charged}`);
    say(`${ids.length} receipts come to ${charged} nano-dollars, and the key has spent ${spent}`);
  } catch (error) {
    problems.push(`the books cannot be checked: ${String(error)}`);
  }
}

type Deploying = Pick<DeploymentCheck, "say"> & { key: string; model: string; deploy: string; problems: string[] };

/** Streams and calls until the new version serves: at every moment of the deployment some streams are open. */
async function checkWhileDeployed(target: Target, { key, model, deploy, problems, say }: Deploying): Promise<void> {
  const wire = makeWire();
  const client = await openai.open({ baseUrl: `${target.url}/api/v1`, apiKey: key, wire, retries: 0 });
  let isOver = false;
  const streams = { begun: 0, whole: 0, refused: 0 };
  const stream = async (onText: () => void): Promise<void> => {
    streams.begun += 1;
    try {
      await client.streamChat({ model, text: "Count from 1 to 200, one number a line.", maxTokens: 600 }, onText);
      streams.whole += 1;
    } catch (error) {
      // An error of the connection has no status.
      if ((error as { status?: unknown }).status === 503) streams.refused += 1;
    }
  };
  const firsts: Promise<void>[] = [];
  const ended = Array.from({ length: STREAMS_WHILE_DEPLOYED }, async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    firsts.push(promise);
    do {
      const pause = sleep(STREAM_EVERY_MS);
      await stream(resolve).finally(resolve);
      await pause;
    } while (!isOver);
  });
  await Promise.all(firsts);
  const deployed = runCommand(deploy).then(async (code) => {
    if (code !== 0) problems.push(`the command that deploys ended with ${code}`);
    await sleep(SETTLING_MS);
    isOver = true;
  });
  while (!isOver) {
    await client.chat({ model, text: "Say hello.", maxTokens: 16 }).catch(() => undefined);
    await Promise.race([deployed, sleep(500)]);
  }
  await Promise.all(ended);
  const answers = Map.groupBy(wire.exchanges, ({ status }) => status);
  for (const [status, all] of answers) {
    if (status !== 200 && status !== 503) problems.push(`${all.length} requests were answered with ${status}`);
  }
  const refused = answers.get(503)?.length ?? 0;
  const { begun, whole } = streams;
  say(`while deployed: ${whole} of ${begun} streams whole, ${refused} of ${wire.exchanges.length} calls refused`);
  const cut = begun - whole - streams.refused;
  if (cut > 0) problems.push(`${cut} streams were cut, or could not begin`);
  await client.chat({ model, text: "Say hello.", maxTokens: 16 }).catch((error: unknown) => {
    problems.push(`after the deployment: ${String(error)}`);
  });
  await checkBooks(target, key, wire.exchanges, { problems, say });
}

async function runCommand(command: string): Promise<number> {
  const child = spawn(command, { shell: true, stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}

function attempt(problems: string[], work: () => void): void {
  try {
    work();
  } catch (error) {
    problems.push(String(error));
  }
}

function push(times: Times, name: string, ms: number): void {
  times[name] = [...(times[name] ?? []), ms];
}

function percentiles(measured: readonly number[]): string {
  const sorted = measured.toSorted((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN);
  return `p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, most ${at(1)} ms (${sorted.length})`;
}
