import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { type PrimaryChain, startPrimaryChain } from "@inference/chain/testing/primary-chain";
import { parseSettings } from "@inference/gateway/settings";
import { bookAccount } from "@inference/gateway/test/chaos/books";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { eventually } from "@inference/protocol/testing/eventually";
import { createPublicClient, http } from "viem";
import { withBooks } from "./chaos/books.ts";
import { gatewayEnvironment, type ProviderProcess, startProvider } from "./chaos/processes.ts";
import { rebuildLedger } from "./rebuild.ts";
import { nodeSettings } from "./settings.ts";
import { type NodeGateway, startNodeGateway } from "./start.ts";

/** The gateway with its settler, a real chain and a real file: what happens to a ledger that is older than the chain. */
const SECRET = "c6".repeat(32);
/** Of the settler of `startPrimaryChain`. */
const SETTLER = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";

let chain: PrimaryChain;
let provider: ProviderProcess;
const folder = mkdtempSync(join(tmpdir(), "rebuild-"));
before(async () => {
  [chain, provider] = await Promise.all([startPrimaryChain(), startProvider()]);
});
after(async () => {
  await Promise.all([chain?.stop(), provider?.kill()]);
  rmSync(folder, { recursive: true });
});

const settingsOf = (file: string, more: Record<string, string> = {}) =>
  parseSettings(nodeSettings, {
    ...gatewayEnvironment({ databaseFile: file, secret: SECRET, provider }),
    ...{ PRIMARY_RPC_URL: chain.rpcUrl, SETTLEMENT_ADDRESS: chain.settlement },
    ...{ SETTLEMENT_START_BLOCK: String(chain.startBlock), CHAIN_POLL_MS: "50" },
    ...{ SETTLER_PRIVATE_KEY: SETTLER, SETTLER_INTERVAL_MS: "0" },
    ...more,
  });

type Answer = { status: number; body: { data: Record<string, number>; error?: { code: string } } };

async function call(gateway: NodeGateway, path: string, key?: string, body?: object): Promise<Answer> {
  const headers = {
    "content-type": "application/json",
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };
  const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(`${gateway.url}${path}`, init);
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

const ask = (gateway: NodeGateway, key: string) =>
  call(gateway, "/v1/chat/completions", key, {
    ...{ model: "sim-small", max_tokens: 1_000 },
    messages: [{ role: "user", content: "[[tokens=100]]" }],
  });

const onChain = (functionName: "totalCreditNanoUsd" | "totalDebitedNanoUsd") => {
  const client = createPublicClient({ transport: http(chain.rpcUrl) });
  const settlement = { address: chain.settlement, abi: inferenceSettlementAbi } as const;
  return client.readContract({ ...settlement, functionName });
};

async function available(gateway: NodeGateway, key: string): Promise<number> {
  return (await call(gateway, "/api/v1/credits", key)).body.data.available_nano_usd ?? -1;
}

function changeRows(file: string, statement: string): void {
  const database = new DatabaseSync(file);
  database.exec(statement);
  database.close();
}

/** Mines until the chain has debited all that was spent. */
async function untilPosted(gateway: NodeGateway, key: string): Promise<void> {
  await eventually(async () => {
    await chain.finalize();
    const isDebited = (await onChain("totalCreditNanoUsd")) === BigInt(await available(gateway, key));
    const { data } = (await call(gateway, "/api/v1/status")).body as unknown as {
      data: { settler: { state: string } };
    };
    return isDebited && data.settler.state === "idle";
  }, 30_000);
}

test("a restored old copy is refused, and rebuilt to the chain's credit; nothing is posted twice", async () => {
  const [file, copy] = [join(folder, "gateway.sqlite"), join(folder, "copy.sqlite")];
  const { address, key } = await withBooks(file, (ledger) => bookAccount(ledger, SECRET, 17, { balanceNanoUsd: 0 }));
  await chain.activate(address, 5_000_000n);
  await chain.finalize();

  const first = await startNodeGateway(settingsOf(file), { pricesFile: null });
  await eventually(async () => (await available(first, key)) === 5_000_000_000);
  assert.equal((await ask(first, key)).status, 200);
  await untilPosted(first, key);
  await first.stop();

  // One use waits when the copy is made, and is posted afterwards with another one.
  const patient = await startNodeGateway(settingsOf(file, { SETTLER_INTERVAL_MS: "600000" }), { pricesFile: null });
  assert.equal((await ask(patient, key)).status, 200);
  await patient.stop();
  cpSync(file, copy);
  const second = await startNodeGateway(settingsOf(file), { pricesFile: null });
  assert.equal((await ask(second, key)).status, 200);
  await untilPosted(second, key);
  const spentNanoUsd = 5_000_000_000 - (await available(second, key));
  await second.stop();
  assert.equal(await onChain("totalDebitedNanoUsd"), BigInt(spentNanoUsd));

  const old = settingsOf(copy);
  const refusing = await startNodeGateway(old, { pricesFile: null });
  const refused = await ask(refusing, key);
  assert.deepEqual([refused.status, refused.body.error?.code], [503, "ledger_unavailable"]);
  const health = await call(refusing, "/healthz");
  assert.equal(health.status, 503);
  assert.match(JSON.stringify(health.body), /"ledger":"behind".*older than the chain.*rebuild/);
  await refusing.stop();

  // A delivery that could be made later would change balances that are right by then.
  changeRows(copy, "INSERT INTO outbox_row (partition, id, target, command) VALUES ('chain:1', '0', 'ceiling', '{')");
  await assert.rejects(rebuildLedger(old), /1 deliveries between partitions cannot be made/);
  changeRows(copy, "DELETE FROM outbox_row WHERE id = '0'");

  const rebuilt = await rebuildLedger(old);
  assert.deepEqual([rebuilt.usesSetAside, rebuilt.accountsChanged, rebuilt.takenNanoUsd], [1, 1, 0]);
  const again = await rebuildLedger(old);
  assert.deepEqual([again.batchesAccepted, again.usesSetAside, again.accountsChanged], [0, 0, 0]);

  const serving = await startNodeGateway(old, { pricesFile: null });
  assert.equal(await available(serving, key), 5_000_000_000 - spentNanoUsd);
  assert.equal((await ask(serving, key)).status, 200);
  await untilPosted(serving, key);
  assert.equal(await onChain("totalDebitedNanoUsd"), BigInt(5_000_000_000 - (await available(serving, key))));
  await serving.stop();
});

test("an empty ledger is refused where batches were posted before", async () => {
  const settings = settingsOf(join(folder, "empty.sqlite"));
  const gateway = await startNodeGateway(settings, { pricesFile: null });
  assert.equal((await call(gateway, "/healthz")).status, 503);
  await gateway.stop();
  await rebuildLedger(settings);
  const rebuilt = await startNodeGateway(settings, { pricesFile: null });
  assert.equal((await call(rebuilt, "/healthz")).status, 200);
  await rebuilt.stop();
});
