import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { handleControl } from "./control.ts";
import { INFERENCE_FAILED, WireError } from "./errors.ts";
import { type Exchange, sendAnswer } from "./exchange.ts";
import { handleProvider } from "./routes.ts";
import { createSimulator, type Simulator, type SimulatorOptions } from "./simulator.ts";
import { BASE_PATH, CONTROL_PATH } from "./wire.ts";

export type { Simulator, SimulatorOptions } from "./simulator.ts";

export interface ProviderSimulatorOptions extends SimulatorOptions {
  /** 0, the default, takes any free port. */
  port?: number | undefined;
  host?: string | undefined;
}

export interface ProviderSimulator {
  /** Origin and base path, without a trailing slash: `http://127.0.0.1:4000/api/v1`. */
  readonly url: string;
  /** The control API: `http://127.0.0.1:4000/__simulator`. */
  readonly controlUrl: string;
  readonly port: number;
  /** The state, for tests in the same process. */
  readonly simulator: Simulator;
  /** Ends every connection, also those that hang. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startProviderSimulator(options: ProviderSimulatorOptions = {}): Promise<ProviderSimulator> {
  const simulator = createSimulator(options);
  const host = options.host ?? "127.0.0.1";
  const server = createServer({ keepAliveTimeout: 65_000, requestTimeout: 0 }, (request, response) => {
    void handle(simulator, request, response);
  });
  const port = await listen(server, options.port ?? 0, host);
  const origin = `http://${host}:${port}`;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: origin + BASE_PATH,
    controlUrl: origin + CONTROL_PATH,
    port,
    simulator,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      const address: AddressInfo | string | null = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

async function handle(sim: Simulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = request.url ?? "/";
  if (url.startsWith(CONTROL_PATH)) return handleControl(sim, request, response);
  const x = createExchange(sim, request, response, url);
  sim.inFlight += 1;
  response.on("close", () => {
    x.gone = !response.writableFinished && !x.cut;
    if (x.gone) x.record.aborted = { atMs: sim.now(), unitsSent: x.record.unitsSent };
  });
  try {
    await handleProvider(x);
  } catch (error) {
    if (error instanceof WireError) sendAnswer(x, error.answer);
    else {
      console.error(error);
      sendAnswer(x, INFERENCE_FAILED);
    }
  } finally {
    x.record.finishedAtMs = sim.now();
    sim.inFlight -= 1;
  }
}

function createExchange(sim: Simulator, request: IncomingMessage, response: ServerResponse, url: string): Exchange {
  const mark = url.indexOf("?");
  const path = mark === -1 ? url : url.slice(0, mark);
  const sequence = sim.nextSequence();
  const authorization = request.headers.authorization ?? null;
  const full = sim.settings.record === "full";
  return {
    sim,
    request,
    response,
    sequence,
    rayId: `${sim.seedText}${sequence.toString(16).padStart(8, "0")}-SIM`,
    path: path.startsWith(BASE_PATH) ? path.slice(BASE_PATH.length) : path,
    query: new URLSearchParams(mark === -1 ? "" : url.slice(mark)),
    key: null,
    model: null,
    bucket: null,
    gone: false,
    cut: false,
    record: {
      method: request.method ?? "GET",
      path,
      receivedAtMs: sim.now(),
      finishedAtMs: null,
      authorization: full ? authorization : null,
      equalsMasterKey: authorization === `Bearer ${sim.masterKey}`,
      keyId: null,
      model: null,
      servedModel: null,
      user: null,
      stream: false,
      fault: null,
      headers: full ? request.rawHeaders : null,
      body: null,
      status: null,
      requestId: null,
      unitsSent: 0,
      aborted: null,
      usage: null,
      billedAtto: null,
    },
  };
}
