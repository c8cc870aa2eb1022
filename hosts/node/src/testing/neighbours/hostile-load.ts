import { once as onceOf } from "node:events";
import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type HostileKeys,
  type HostileKind,
  type HostileKindName,
  type HostileRequest,
  makeHostileKinds,
} from "./hostile-kinds.ts";

/** Hostile clients in a process of their own: begins with what its parent names, ends it when told `stop`. */
export type HostileOrder = {
  url: string;
  baseUrl: string;
  keys: HostileKeys;
  kind: HostileKindName;
  connections: number;
};
/** Answers by status. */
export type HostileReport = Record<string, number>;

let stopped = true;
let counts: HostileReport = {};
let clients: Promise<void>[] = [];
const open = new Set<Socket>();

process.on("message", async (order: HostileOrder | "stop") => {
  if (order === "stop") {
    stopped = true;
    for (const socket of open) socket.destroy();
    await Promise.all(clients);
    process.send?.(counts);
    return;
  }
  stopped = false;
  counts = {};
  const kind = makeHostileKinds(order.keys, order.baseUrl)[order.kind];
  clients = Array.from({ length: order.connections }, (_, connection) => attack(order.url, kind, connection));
  process.send?.("begun");
});
process.stdout.write("ready\n");

async function attack(url: string, kind: HostileKind, connection: number): Promise<void> {
  const agent = kind.keepsAlive === true ? new Agent({ keepAlive: true, maxSockets: 1 }) : undefined;
  agent?.on("free", (socket: Socket) => open.add(socket));
  for (let round = 0; !stopped; round += 1) {
    const sent = kind.request(connection, round);
    const status = agent === undefined ? await once(url, kind, sent) : await next(url, agent, sent);
    counts[status] = (counts[status] ?? 0) + 1;
    // A refused client asks again at once, no faster than a client on the same machine can.
    if (status === "closed") await sleep(50);
  }
}

/** One more request on the agent's connection. */
async function next(url: string, agent: Agent, { method, path, headers, body }: HostileRequest): Promise<string> {
  const request = httpRequest(new URL(path, url), { method, headers: headers ?? {}, agent });
  try {
    request.end(body);
    const [response] = (await onceOf(request, "response")) as [IncomingMessage];
    response.resume();
    await onceOf(response, "end");
    return String(response.statusCode);
  } catch {
    return "closed";
  }
}

/** One request on a connection of its own. */
function once(url: string, kind: HostileKind, sent: HostileRequest): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    open.add(socket);
    let status = "closed";
    socket.on("error", () => undefined);
    socket.on("close", () => {
      open.delete(socket);
      resolve(status);
    });
    socket.once("connect", () => void write(socket, kind, sent));
    if (kind.reads === "nothing") return;
    socket.on("data", (data: Buffer) => {
      if (status === "closed") status = data.toString("latin1", 9, 12);
      if (kind.reads !== "slowly") return;
      socket.pause();
      setTimeout(() => socket.resume(), 20);
    });
    socket.on("end", () => socket.destroy());
  });
}

async function write(
  socket: Socket,
  { trickles, withholds = 0 }: HostileKind,
  { method, path, headers, body }: HostileRequest,
) {
  const all: Record<string, string | number> = { host: "gateway", connection: "close", ...headers };
  if (body !== undefined) all["content-length"] = body.length + withholds;
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  if (body === undefined) return;
  if (trickles === undefined) {
    socket.write(body);
    return;
  }
  for (let at = 0; at < body.length && !socket.destroyed; at += trickles) {
    socket.write(body.subarray(at, at + trickles));
    await sleep(100);
  }
}
