import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MortalHost, type Settings, testKills } from "@inference/gateway/test/chaos/kills";
import type { Command, Reply } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import type { Saga } from "@inference/ledger/saga";
import { type RunningWorker, startWorker } from "./local/workerd.ts";
import { mergeBooks } from "./testing/merged-books.ts";

/** `kill -9` of local workerd, with every Worker and every object in it. */
testKills(openHost, 1);

function openHost(): MortalHost {
  const folder = mkdtempSync(join(tmpdir(), "edge-kills-"));
  const entry = new URL("testing/mortal-worker.ts", import.meta.url);
  const written = new Set<Partition>();

  async function start(settings: Settings, signal?: AbortSignal): Promise<RunningWorker> {
    return startWorker({ folder, entry, settings, ...(signal === undefined ? {} : { signal }) });
  }

  async function ask(url: string, body: object): Promise<unknown> {
    // A later life may have the port of an earlier one, whose connections are dead.
    const headers = { connection: "close" };
    const response = await fetch(`${url}/__ledger`, { method: "POST", headers, body: JSON.stringify(body) });
    if (response.status !== 200) throw new Error(`the ledger's door answered ${response.status}`);
    return response.json();
  }

  /** An object does not learn that the Workers died whose holds it has: only the leases end. */
  async function lapse(url: string): Promise<string> {
    await Promise.all([...written].map((partition) => ask(url, { partition, call: ["lapse"] })));
    return url;
  }

  return {
    launch(settings) {
      const death = new AbortController();
      let isOver = false;
      const worker = start(settings, death.signal);
      const ended = worker.then(
        (running) => running.ended.then(() => undefined),
        () => undefined,
      );
      void ended.then(() => {
        isOver = true;
      });
      const url = worker.then((running) => lapse(running.url));
      // A Worker that is killed during its start never listens.
      url.catch(() => undefined);
      let said = () => "it never listened";
      void worker.then(
        (running) => {
          said = running.said;
        },
        (error: unknown) => {
          said = () => String(error);
        },
      );
      return {
        url,
        said: () => said(),
        async kill() {
          const ran = !isOver || death.signal.aborted;
          death.abort();
          await ended;
          return ran;
        },
      };
    },
    async withBooks(settings, work) {
      const worker = await start(settings);
      try {
        return await work({
          async run<T>(saga: () => Saga<T>): Promise<T> {
            const steps = saga();
            let step = steps.next();
            while (!step.done) {
              const { partition, command }: { partition: Partition; command: Command } = step.value;
              written.add(partition);
              step = steps.next((await ask(worker.url, { partition, command })) as Reply);
            }
            return step.value;
          },
        });
      } finally {
        await worker.stop();
      }
    },
    chargedLater: ["stream", "whole"],
    readBooks: () => mergeBooks(join(folder, "objects")),
    close: () => rmSync(folder, { recursive: true }),
  };
}
