import type { IncomingMessage, ServerResponse } from "node:http";
import type { Group } from "./billing.ts";
import { readBody } from "./body.ts";
import { usdFromAtto } from "./decimal.ts";
import { priceFromWire } from "./pricing.ts";
import { type RequestRecord, recordToJson } from "./record.ts";
import { isSettingName, readPlacedFault, readSettings } from "./settings.ts";
import type { Simulator } from "./simulator.ts";
import { type Body, isObject, parseJsonObject } from "./validate.ts";
import { CONTROL_PATH } from "./wire.ts";

type Reply = { readonly status: number; readonly body: unknown };

/** What a test asks and changes. None of it is part of the provider's wire. */
export async function handleControl(sim: Simulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", "http://simulator");
  const route = `${request.method} ${url.pathname.slice(CONTROL_PATH.length)}`;
  let reply: Reply;
  try {
    reply = answer(sim, route, url.searchParams, (await readBody(request)) ?? "");
  } catch (error) {
    reply = { status: 400, body: { error: error instanceof Error ? error.message : String(error) } };
  }
  response.writeHead(reply.status, { "content-type": "application/json" });
  response.end(JSON.stringify(reply.body));
}

function answer(sim: Simulator, route: string, query: URLSearchParams, text: string): Reply {
  if (route === "GET " || route === "GET /") return ok({ ready: true, inFlight: sim.inFlight, settings: sim.settings });
  if (route === "GET /bill") return ok(totals(sim));
  if (route === "GET /requests") return ok({ data: requests(sim, query) });
  if (route === "GET /config") return ok(configuration(sim));
  if (route === "POST /config") {
    configure(sim, parseJsonObject(text));
    return ok(configuration(sim));
  }
  if (route === "POST /reset") {
    sim.reset();
    return ok({ ok: true });
  }
  const id = /^GET \/requests\/(.+)$/.exec(route)?.[1];
  const record = id === undefined ? null : findRecord(sim, id);
  return record === null ? { status: 404, body: { error: "Not Found" } } : ok(recordToJson(record));
}

function ok(body: unknown): Reply {
  return { status: 200, body };
}

/** By the record's own number, or by the id in the provider's answer. */
function findRecord(sim: Simulator, id: string): RequestRecord | null {
  if (/^\d{1,15}$/.test(id)) return sim.records.at(Number(id));
  return sim.records.select((record) => record.requestId === id, 1)[0] ?? null;
}

function requests(sim: Simulator, query: URLSearchParams): unknown[] {
  const since = Number(query.get("since") ?? "0");
  const wanted = ["path", "model", "user", "requestId", "keyId"] as const;
  const matches = (record: RequestRecord): boolean =>
    record.id >= since && wanted.every((name) => !query.has(name) || record[name] === query.get(name));
  return sim.records.select(matches, Number(query.get("limit") ?? "1000")).map(recordToJson);
}

function totals(sim: Simulator): unknown {
  const { finished, byModel, byKey, byUser } = sim.ledger.totals;
  const groups = (map: Map<string, Group>): unknown =>
    Object.fromEntries([...map].map(([name, g]) => [name, group(g)]));
  return {
    ...group(sim.ledger.totals),
    finished,
    inFlight: sim.inFlight,
    balanceUsd: usdFromAtto(sim.ledger.usd()),
    balanceDiem: usdFromAtto(sim.ledger.diem()),
    byModel: groups(byModel),
    byKey: groups(byKey),
    byUser: groups(byUser),
  };
}

function group({ requests: count, atto, nano }: Group): Record<string, unknown> {
  return { requests: count, attoUsd: atto.toString(), nanoUsd: nano.toString() };
}

function configuration(sim: Simulator): unknown {
  const faults = Object.fromEntries(sim.placedFaults);
  return { ...sim.settings, faults };
}

/** All of it or nothing: everything is read before anything is changed. */
function configure(sim: Simulator, body: Body): void {
  const changes: (() => void)[] = [];
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (isSettingName(name)) continue;
    const entries = isObject(value) ? Object.entries(value) : [];
    if (!["prices", "offline", "listed", "faults"].includes(name)) throw new RangeError(`unknown setting: ${name}`);
    for (const [id, entry] of entries) changes.push(placed(sim, name, id, entry));
  }
  const settings = readSettings(body);
  for (const change of changes) change();
  sim.change(settings);
}

function placed(sim: Simulator, name: string, id: string, value: unknown): () => void {
  if (name === "faults") {
    const fault = readPlacedFault(value);
    return () => void (fault === null ? sim.placedFaults.delete(id) : sim.placedFaults.set(id, fault));
  }
  if (!sim.catalogue.knows(id)) throw new RangeError(`no such model: ${id}`);
  if (name === "prices") {
    const price = value === null ? null : priceFromWire(value);
    return () => sim.catalogue.setPrice(id, price);
  }
  if (typeof value !== "boolean") throw new RangeError(`${name} takes true or false`);
  return () => (name === "offline" ? sim.catalogue.setOffline(id, value) : sim.catalogue.setListed(id, value));
}
