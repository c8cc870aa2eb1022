import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bookAccount } from "@inference/gateway/test/chaos/books";
import type { TestAccount } from "@inference/gateway/test/fund";
import type { NanoUsd } from "@inference/protocol/money";
import { type ProviderSimulator, startProviderSimulator } from "@inference/provider-simulator/server";
import { withBooks } from "../chaos/books.ts";
import { gatewayEnvironment, MASTER_KEY, type Program, type Running, start } from "../chaos/processes.ts";

/** One test's folder, provider and gateways. `withSite` removes all of them at its end. */
export type Site = {
  folder: string;
  /** The gateway's database. */
  file: string;
  provider: ProviderSimulator;
  /** The settings of the site's gateway. */
  env: Record<string, string>;
  start(program: Program): Promise<Running>;
  /** Accounts with a key each, in the ledger of a gateway that is not running. */
  accounts(count: number, balanceNanoUsd: NanoUsd): Promise<TestAccount[]>;
};

const SECRET = "c5".repeat(32);

export async function withSite(work: (site: Site) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "site-"));
  const file = join(folder, "gateway.sqlite");
  const provider = await startProvider();
  const running: Running[] = [];
  try {
    await work({
      ...{ folder, file, provider, env: gatewayEnvironment({ databaseFile: file, secret: SECRET, provider }) },
      async start(program) {
        const process = await start(program);
        running.push(process);
        return process;
      },
      accounts: (count, balanceNanoUsd) =>
        withBooks(file, (ledger) =>
          Promise.all(
            Array.from({ length: count }, (_, index) => bookAccount(ledger, SECRET, index + 1, { balanceNanoUsd })),
          ),
        ),
    });
  } finally {
    for (const process of running) await process.kill();
    await provider.close();
    rmSync(folder, { recursive: true });
  }
}

/** The provider simulator. The gateway reads the usage history with the key that it infers with. */
export function startProvider(): Promise<ProviderSimulator> {
  return startProviderSimulator({ masterKey: MASTER_KEY, adminKey: MASTER_KEY, record: "light", errorBudget: null });
}
