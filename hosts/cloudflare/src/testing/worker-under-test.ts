import type { ExecutionContext } from "@cloudflare/workers-types";
import type { Command, CommandType, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { tableSql } from "@inference/ledger/sql";
import type { TableName } from "@inference/ledger/tables";
import type { Bindings } from "../bindings.ts";
import { makeEdgeLedger } from "../ledger.ts";
import { PartitionObject as RealPartitionObject } from "../partition-object.ts";
import worker from "../worker.ts";

export { ChainObject } from "../chain-object.ts";

/** The object as it is, and what may happen to it. */
export class PartitionObject extends RealPartitionObject {
  #refused: CommandType = "follow";
  #refusals = 0;

  override async execute(partition: Partition, command: Command): Promise<Reply> {
    if (command.type === this.#refused && this.#refusals > 0) {
      this.#refusals -= 1;
      throw new Error("out of order");
    }
    return super.execute(partition, command);
  }

  /** The next commands of a type fail: deliveries to the ceiling, if it is not said otherwise. */
  async refuse(times: number, type: CommandType = "follow"): Promise<void> {
    this.#refusals = times;
    this.#refused = type;
  }

  async refusalsLeft(): Promise<number> {
    return this.#refusals;
  }

  /** As after an alarm that the runtime gave up, in an object that was evicted since. */
  async loseAlarm(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.sync();
    this.ctx.abort("evicted");
  }

  /** The rows of a table, as they are stored. */
  async rows(partition: Partition, table: TableName): Promise<unknown[]> {
    const { list, toRow } = tableSql[table];
    return this.ctx.storage.sql.exec(list, partition, "", 100_000).toArray().map(toRow);
  }

  /** Its alarm comes now. */
  async ring(): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now());
  }
}

/** The Worker as it is, and beside it a door for tests to put commands and questions to a partition. */
export default {
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/__hurry") return hurry(Number(searchParams.get("times")));
    if (pathname === "/__say") {
      console.log(searchParams.get("text"));
      return new Response();
    }
    if (pathname !== "/__ledger") return worker.fetch(signalled(request), bindings, event);
    const { partition, command, query, call } = (await request.json()) as {
      partition: string;
      command?: Command;
      query?: never;
      call?: [string, ...unknown[]];
    };
    const ledger = makeEdgeLedger(bindings);
    if (command !== undefined) return Response.json(await ledger.run(() => send(partition, command)));
    if (query !== undefined) return Response.json(await ledger.read(partition, query as never));
    const [method, ...args] = call ?? ["none"];
    const object = bindings.PARTITION.get(bindings.PARTITION.idFromName(partition)) as unknown as {
      [method: string]: (...args: unknown[]) => Promise<unknown>;
    };
    return Response.json((await object[method]?.(...args)) ?? null);
  },
};

/**
 * Production says through the request's signal that a client left before its answer began; local workerd notices it only
 * when it writes to it. So the client leaves an address, which answers once it has left.
 */
function signalled(request: Request): Request {
  const answersOnceLeft = request.headers.get("x-test-answers-once-left");
  if (answersOnceLeft === null) return request;
  const left = new AbortController();
  fetch(answersOnceLeft).then(
    () => left.abort(),
    () => undefined,
  );
  return new Request(request, { signal: left.signal });
}

/** Makes every timer from now on this many times shorter. */
function hurry(times: number): Response {
  const { setTimeout } = globalThis;
  globalThis.setTimeout = ((callback: () => void, ms = 0) => setTimeout(callback, ms / times)) as typeof setTimeout;
  return new Response();
}
