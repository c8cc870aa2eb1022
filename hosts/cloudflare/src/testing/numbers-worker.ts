import type { ExecutionContext } from "@cloudflare/workers-types";
import type { Command } from "@inference/ledger/commands";
import { Draft } from "@inference/ledger/draft";
import { columnsOf, tableNames } from "@inference/ledger/schema";
import type { Tables } from "@inference/ledger/tables";
import type { Bindings } from "../bindings.ts";
import { openOwnRows } from "../own-rows.ts";
import { PartitionObject as RealPartitionObject } from "../partition-object.ts";
import worker from "./worker-under-test.ts";

export { ChainObject } from "../chain-object.ts";

/** Numbers that SQLite would store as others, and numbers that are no amount or time. No JSON can say most of them. */
const traps: Record<string, unknown> = {
  NaN: Number.NaN,
  infinity: Number.POSITIVE_INFINITY,
  "minus infinity": Number.NEGATIVE_INFINITY,
  "a fraction": 0.5,
  "a fraction near 2^53": 2 ** 51 + 0.5,
  "minus one": -1,
  "2^53": 2 ** 53,
  "2^63": 2 ** 63,
  "1e300": 1e300,
  "a BigInt": 5n,
  "a BigInt of 2^53 + 1": 2n ** 53n + 1n,
  "a text": "seven",
  "a text of digits": "7",
  "a boolean": true,
  nothing: undefined,
};

const right = { seven: 7, "2^53 - 1": Number.MAX_SAFE_INTEGER };

/** The fate of a number in a column: an error, or the value read afterwards. */
export type Attempt = { column: string; name: string; error: string | null; stored: unknown };

export class PartitionObject extends RealPartitionObject {
  async tryRows(partition: string): Promise<Attempt[]> {
    const attempts: Attempt[] = [];
    for (const table of tableNames) {
      const columns = columnsOf(table);
      const good = Object.fromEntries(columns.map(({ property, kind }) => [property, sample(kind)]));
      for (const { property } of columns.filter(({ kind }) => /^(amount|integer)/.test(kind))) {
        for (const [name, value] of Object.entries({ ...right, ...traps })) {
          const id = `${property} ${name}`;
          const row = { ...good, id, [property]: value };
          let error: string | null = null;
          try {
            const draft = new Draft(this.ownRows.of(partition));
            draft.put(table, row as unknown as Tables[typeof table]);
            this.ownRows.write(partition, draft.changes);
            this.ownRows.commit();
          } catch (thrown) {
            error = String(thrown);
          }
          // A later reader finds it in the log or in a segment.
          const stored = openOwnRows(this.ctx.storage).of(partition);
          const found = stored.get(table, id) as Record<string, unknown> | undefined;
          attempts.push({ column: `${table}.${property}`, name, error, stored: found?.[property] ?? null });
        }
      }
    }
    return attempts;
  }
}

function sample(kind: string): unknown {
  if (kind.startsWith("one of ")) return kind.split(" ")[2];
  return /^(amount|integer)/.test(kind) ? 0 : "text";
}

export default {
  /** `/__numbers`: a command, one of whose properties is each of these in turn, as it would come from another object. */
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    if (!request.url.endsWith("/__numbers")) return worker.fetch(request, bindings, event);
    const { partition, command, property } = (await request.json()) as {
      partition: string;
      command: Command;
      property: string;
    };
    const object = bindings.PARTITION.getByName(partition) as unknown as PartitionObject;
    const answers: Record<string, string> = {};
    for (const [name, value] of Object.entries(traps)) {
      const tried = { ...command, id: `${property} ${name}`, [property]: value } as Command;
      answers[name] = await object.execute(partition, tried).then(
        (reply) => JSON.stringify(reply),
        (error: unknown) => String(error),
      );
    }
    return Response.json(answers);
  },
};
