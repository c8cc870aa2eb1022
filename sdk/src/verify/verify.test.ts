import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { before, test } from "node:test";
import { shareDevnet, type TestedDevnet } from "@inference/devnet/testing/shared-devnet";
import { http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import {
  type ChainOptions,
  type Check,
  connect,
  createClient,
  type Evidence,
  judge,
  keepingReceipts,
  verify,
} from "../index.ts";

/** A gateway that lies is caught by the check that is there for it. The lies are told by a proxy before a real one. */
let devnet: TestedDevnet;
/** The evidence of an honest gateway and its chains, for an account with uses in final statements. */
let honest: Evidence;
const receipts: string[] = [];

before(
  async () => {
    devnet = await shareDevnet(2);
    const client = createClient({ gateway: devnet.ready.gatewayUrl, account: account(), pollMs: 50 });
    await client.mint({ amountToken: 5_000_000n });
    await client.activate({ amountToken: 5_000_000n });
    const { key } = await client.createKey();
    for (const uses of [3, 6]) {
      for (const text of ["one", "two", "three"]) await chat(key, `${text} of ${uses}`);
      await settled(uses);
    }
    honest = (await verify(connectionOf(), { log: { receipts, isComplete: true } })).evidence;
  },
  { timeout: 600_000 },
);
test("an honest gateway passes every check, with the reader's nodes and address, and a log of signed receipts", async () => {
  const { checks, outcome } = await judge(honest);
  equal(outcome, "pass", JSON.stringify(checks, null, 1));
  equal(checks.length, 11);
  match(detail(checks, "usage"), /^6 of 6 charges/);
  match(detail(checks, "leaves"), /^6 uses in \d statements$/);
  match(detail(checks, "requests"), /^6 of 6 uses are requests of yours$/);
  match(detail(checks, "books"), /^3 chains/);
});

test("a receipt equals its row in the list", async () => {
  const [listed] = honest.said.receipts;
  const client = createClient({ gateway: devnet.ready.gatewayUrl, account: account() });
  const { settlement: _, signed_receipt: __, ...receipt } = await client.receipt(listed?.id ?? "");
  deepEqual(receipt, listed);
});

test("without the reader's address and nodes, the checks name the gateway as trusted", async () => {
  const { checks, outcome } = await verify(connectionOf({ chains: {} }));
  deepEqual([outcome, outcomes(checks).contract], ["skipped", "skipped"]);
  for (const id of ["contract", "debits", "balance", "books"] as const) {
    match(checks.find((check) => check.id === id)?.trusts.join() ?? "", /the gateway/, id);
  }
});

test("a bundle is judged the same without a network, if its judge names the contract", async () => {
  const kept = JSON.parse(JSON.stringify(honest)) as Evidence;
  const { outcome } = await judge(kept, { isBundle: true, settlement: honest.contract.address });
  equal(outcome, "pass");
  equal((await judge(kept, { isBundle: true })).outcome, "skipped");
});

test("the reader's nodes and the settlement's address are enough, whatever else the gateway names", async () => {
  const { ready } = devnet;
  const own = ready.chains.map(({ name, chainId, rpcUrl }): [number, ChainOptions] => {
    const { inferenceSettlement } = ready.contracts[name] ?? {};
    const contracts = inferenceSettlement === undefined ? {} : { inferenceSettlement };
    return [chainId, { transport: http(rpcUrl), contracts }];
  });
  const { outcome, checks, evidence } = await verifyLiar(
    (path, { data }) => {
      if (path !== "/api/v1/contracts") return;
      for (const chain of data.chains) {
        chain.start_block = 1_000_000;
        for (const name of Object.keys(chain.contracts)) {
          if (name !== "inferenceSettlement") chain.contracts[name] = `0x${"1".repeat(40)}`;
        }
      }
    },
    { chains: Object.fromEntries(own) },
  );
  equal(outcome, "pass", JSON.stringify(checks, null, 1));
  deepEqual(evidence.chain?.blocks, honest.chain?.blocks);
  for (const { trusts } of checks) equal(trusts.join().includes("the gateway, for the contract"), false);
});

/** Three lies, and the checks that catch them. `lies.test.ts` has all lies. */
type Lie = { caughtBy: Check["id"]; says: RegExp; tell: (path: string, answer: Said) => void };
// biome-ignore lint/suspicious/noExplicitAny: lies do not keep to a schema
type Said = any;

const lies: Record<string, Lie> = {
  "another settlement contract": {
    caughtBy: "contract",
    says: /^you named 0x.* and the gateway names 0x1{40}$/,
    tell: (path, { data }) => {
      if (path === "/api/v1/contracts") data.chains[0].contracts.inferenceSettlement = `0x${"1".repeat(40)}`;
    },
  },
  "prices that nobody sees": {
    caughtBy: "prices",
    says: /^the published prices are not those of the snapshot/,
    tell: (path, answer) => {
      if (path.startsWith("/api/v1/prices/")) answer.data = [];
    },
  },
  "one debit fewer": {
    caughtBy: "debits",
    says: /^the records end at \$.*, and the chain debited \$/,
    tell: (path, { data }) => {
      if (path === "/api/v1/statements") data.records.pop();
    },
  },
};

for (const [name, { caughtBy, says, tell }] of Object.entries(lies)) {
  test(`a gateway that tells of ${name} is caught`, async () => {
    const { checks, outcome } = await verifyLiar(tell);
    const found = [outcome, outcomes(checks)[caughtBy], says.test(detail(checks, caughtBy))];
    deepEqual(found, ["fail", "fail", true], JSON.stringify(checks, null, 1));
  });
}

/** Verifies with a gateway that tells something else. */
async function verifyLiar(tell: Lie["tell"], options: { chains?: Record<number, ChainOptions> } = {}) {
  let lied = 0;
  const lyingFetch: typeof fetch = async (input, init) => {
    const { pathname } = new URL(String(input));
    const response = await fetch(input, init);
    if (!response.ok) return response;
    const answer = (await response.json()) as Said;
    const before = JSON.stringify(answer);
    tell(pathname, answer);
    if (JSON.stringify(answer) !== before) lied += 1;
    return Response.json(answer, { status: response.status });
  };
  const verdict = await verify(connectionOf({ fetch: lyingFetch, ...options }));
  notEqual(lied, 0, "it told the truth");
  return verdict;
}

test("a gateway that leaves a chain out is caught by the minter's lines, and by a client that knows the chain", async () => {
  const leaveOut: Lie["tell"] = (path, { data }) => {
    if (path === "/api/v1/contracts") data.chains.pop();
  };
  const { chains } = connectionOf();
  const known = await verifyLiar(leaveOut);
  deepEqual([known.outcome, outcomes(known.checks).books], ["skipped", "skipped"]);
  match(known.checks.at(-1)?.detail ?? "", /31339 \(the gateway does not name it\)/);
  const unknown = await verifyLiar(leaveOut, { chains: { 31337: chains[31_337] ?? {} } });
  deepEqual([unknown.outcome, outcomes(unknown.checks).books], ["fail", "fail"]);
  match(unknown.checks.at(-1)?.detail ?? "", /leaves a chain out/);
});

test("a chain that could not be read is skipped, and never passes", async () => {
  const evidence = structuredClone(honest);
  if (evidence.books !== null) evidence.books.secondaries[0] = { chainId: 31_338, unread: "no node" };
  equal(outcomes((await judge(evidence)).checks).books, "skipped");
});

function outcomes(checks: readonly Check[]): Partial<Record<Check["id"], Check["outcome"]>> {
  return Object.fromEntries(checks.map(({ id, outcome }) => [id, outcome]));
}

function detail(checks: readonly Check[], id: Check["id"]): string {
  return checks.find((check) => check.id === id)?.detail ?? "";
}

function account() {
  return privateKeyToAccount(devnet.ready.wallets[1]?.privateKey ?? "0x");
}

function connectionOf(options: { fetch?: typeof fetch; chains?: Record<number, ChainOptions> } = {}) {
  const { ready } = devnet;
  const own = ready.chains.map(({ name, chainId, rpcUrl }): [number, ChainOptions] => [
    chainId,
    { transport: http(rpcUrl), contracts: ready.contracts[name] ?? {} },
  ]);
  const chains = Object.fromEntries(own);
  return connect({ gateway: ready.gatewayUrl, account: account(), pollMs: 10, chains, ...options });
}

/** The answer's signed receipt is kept. */
async function chat(key: string, text: string): Promise<void> {
  const fetch = keepingReceipts((receipt) => receipts.push(receipt));
  const answer = await fetch(`${devnet.ready.gatewayUrl}/api/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "alder-4b", max_tokens: 9, messages: [{ role: "user", content: text }] }),
  });
  equal(answer.status, 200, await answer.text());
}

/** Waits until so many uses of the account are final. */
async function settled(count: number): Promise<void> {
  const client = createClient({ gateway: devnet.ready.gatewayUrl, account: account() });
  for (let final = 0; final < count; await new Promise((resolve) => setTimeout(resolve, 200))) {
    const { debited_nano_usd: debited } = await client.statements();
    final = 0;
    for await (const { ends_at_nano_usd: end } of client.statementUses()) if (end <= debited) final += 1;
  }
}
