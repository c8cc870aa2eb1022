import { Agent, request } from "node:http";
import { setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

// Users who check their bills, in a process of its own: each reads what the library's `verify` reads, one request after
// the other, and begins again. A refusal with Retry-After is waited for. They go on from one message of their
// parent to the next, which is answered with the number of answers by status, and of whole checks.
//
// Clients have machines of their own. Here they have a low priority, so that they take only what is left.

export type CheckersOrder = { url: string; sessions: readonly string[] };
export type CheckersReport = { answers: Record<string, number>; checks: number };

type Answer = { data: Record<string, unknown> | Record<string, unknown>[]; [cursor: string]: unknown };

setPriority(10);
const agent = new Agent({ keepAlive: true });
let report: CheckersReport = { answers: {}, checks: 0 };
let opening = Promise.withResolvers<void>();
let asked = 0;
let hasBegun = false;

process.on("message", async (order: CheckersOrder | "stop") => {
  if (order === "stop") {
    opening = Promise.withResolvers();
    while (asked > 0) await sleep(5);
    process.send?.(report);
    return;
  }
  report = { answers: {}, checks: 0 };
  opening.resolve();
  if (!hasBegun) {
    for (const [user, session] of order.sessions.entries()) {
      void check(order.url, session, `10.0.${user >> 8}.${user & 255}`);
    }
  }
  hasBegun = true;
  process.send?.("begun");
});
process.stdout.write("ready\n");

async function check(url: string, session: string, address: string): Promise<void> {
  const read = (path: string) => ask(url + path, { authorization: `Bearer ${session}`, "x-client-address": address });
  const year = `from=${new Date().getUTCFullYear()}-01-01&to=${new Date().toISOString().slice(0, 10)}`;
  for (;;) {
    await read("/api/v1/credits");
    await pages(read, `/api/v1/activity?${year}`, "cursor", "next_cursor");
    await read(`/api/v1/activity?${year}&group_by=day`);
    await read("/api/v1/credits");
    await pages(read, "/api/v1/statements?", "after", "next_after");
    const uses = await pages(read, "/api/v1/statements/uses?", "after", "next_after");
    const [use] = uses.data as { id: string }[];
    if (use !== undefined) await read(`/api/v1/generation?id=${use.id}`);
    report.checks += 1;
  }
}

/** Reads all pages, and gives the last one. */
async function pages(read: (path: string) => Promise<Answer>, path: string, member: string, next: string) {
  let page = await read(path);
  while (page[next] !== null) page = await read(`${path}&${member}=${page[next]}`);
  return page;
}

async function ask(url: string, headers: Record<string, string>): Promise<Answer> {
  for (;;) {
    await opening.promise;
    asked += 1;
    const { status, retryAfterS, text } = await once(url, headers).finally(() => {
      asked -= 1;
    });
    report.answers[status] = (report.answers[status] ?? 0) + 1;
    if (status === 200) return JSON.parse(text) as Answer;
    if (retryAfterS === undefined) throw new Error(`${url} answered ${status}: ${text}`);
    await sleep(1_000 * retryAfterS);
  }
}

function once(url: string, headers: Record<string, string>) {
  return new Promise<{ status: number; retryAfterS: number | undefined; text: string }>((resolve, reject) => {
    request(url, { agent, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.once("error", reject).once("end", () => {
        const after = response.headers["retry-after"];
        const retryAfterS = after === undefined ? undefined : Number(after);
        resolve({ status: response.statusCode ?? 0, retryAfterS, text: Buffer.concat(parts).toString() });
      });
    })
      .once("error", reject)
      .end();
  });
}
