import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { before, test } from "node:test";
import { type DevnetShare, shareDevnet } from "@inference/devnet/testing/shared-devnet";
import { http, sha256, toBytes } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type ChainOptions, type Check, connect, createClient, type Evidence, judge, verify } from "../index.ts";

/** A gateway that lies is caught by the check that is there for it. The lies are told by a proxy before a real one. */
let devnet: DevnetShare;
/** What an honest gateway and its chains said, of an account with uses in two final batches. */
let honest: Evidence;
/** The two batches. */
let [first, second] = [0, 0];
const batchPath = (id: number) => `/api/v1/batches/${id}`;

before(async () => {
  devnet = await shareDevnet();
  const client = createClient({ gateway: devnet.ready.gatewayUrl, account: account(), pollMs: 50 });
  await client.mint({ amountToken: 5_000_000n });
  await client.activate({ amountToken: 5_000_000n });
  const { key } = await client.createKey();
  for (const batch of [1, 2]) {
    await Promise.all(["one", "two", "three"].map((text) => chat(key, `${text} of ${batch}`)));
    await settled(batch * 3);
  }
  honest = (await verify(connectionOf())).evidence;
  const own = honest.said.batches.filter(({ leaves }) => (leaves ?? []).length > 0);
  [first = 0, second = 0] = own.map(({ id }) => id).sort((one, other) => one - other);
});

test("an honest gateway passes every check, with one's own nodes and address", () => {
  deepEqual(outcomes(judge(honest).checks), {
    ...{ contract: "pass", prices: "pass", usage: "pass", receipts: "pass", leaves: "pass", debits: "pass" },
    ...{ balance: "pass", books: "pass" },
  });
  equal(judge(honest).outcome, "pass");
  match(detail(honest, "usage"), /^6 of 6 charges/);
  match(detail(honest, "leaves"), /^6 uses; 0 /);
  match(detail(honest, "debits"), /^2 batches; 0 /);
  match(detail(honest, "books"), /^3 chains/);
});

test("without one's own address and nodes, the checks name the gateway as trusted", async () => {
  const { checks, outcome } = await verify(connectionOf({ chains: {} }));
  deepEqual([outcome, outcomes(checks).contract], ["skipped", "skipped"]);
  for (const id of ["contract", "leaves", "debits", "balance", "books"] as const) {
    match(checks.find((check) => check.id === id)?.trusts.join() ?? "", /the gateway/, id);
  }
});

test("a bundle is judged the same without a network, for who names the contract", () => {
  const kept = JSON.parse(JSON.stringify(honest)) as Evidence;
  const { outcome } = judge(kept, { isBundle: true, settlement: honest.contract.address });
  equal(outcome, "pass");
  equal(judge(kept, { isBundle: true }).outcome, "skipped");
});

test("one's own nodes and the settlement's address are enough, wherever the gateway says the rest is", async () => {
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
  deepEqual([evidence.chain.activations.length, evidence.chain.debits.length], [1, 2]);
  for (const { trusts } of checks) equal(trusts.join().includes("the gateway, for the contract"), false);
});

/** A snapshot without a price, whose id is right. */
const NO_PRICES = { text: '{"data":[]}', id: sha256(toBytes('{"data":[]}')).slice(2, 34) };

/** What a gateway might say instead, and the checks that catch it. */
type Lie = { caughtBy: Check["id"][]; tell: (path: string, answer: Said) => void };
// biome-ignore lint/suspicious/noExplicitAny: lies do not keep to a schema
type Said = any;
const lies: Record<string, Lie> = {
  "another settlement contract": {
    caughtBy: ["contract"],
    tell: (path, { data }) => {
      if (path === "/api/v1/contracts") data.chains[0].contracts.inferenceSettlement = `0x${"1".repeat(40)}`;
    },
  },
  "a charge above the usage, everywhere": {
    caughtBy: ["usage", "leaves", "debits"],
    tell: (path, { data }) => {
      if (path === "/api/v1/activity") data[0].charge_nano_usd += 1_000;
      if (path.startsWith("/api/v1/batches/") && data.id === second) raise(last(data.leaves), "charge_nano_usd", 1_000);
      if (path !== "/api/v1/credits") return;
      data.total_usage_nano_usd += 1_000;
      data.available_nano_usd -= 1_000;
    },
  },
  "a usage of fewer tokens than it charges for": {
    caughtBy: ["usage"],
    tell: (path, { data }) => {
      if (path === "/api/v1/activity") data[0].tokens_completion -= 1;
    },
  },
  "a lower price than it charges": {
    caughtBy: ["prices", "usage"],
    tell: (path, { data }) => {
      if (!path.startsWith("/api/v1/prices/")) return;
      for (const { id, pricing } of data) if (id === "alder-4b") pricing.prompt = "0.000000001";
    },
  },
  "prices that nobody sees": {
    caughtBy: ["prices"],
    tell: (path, answer) => {
      if (path.startsWith("/api/v1/prices/")) answer.data = [];
    },
  },
  "more spent than the receipts come to": {
    caughtBy: ["receipts"],
    tell: (path, { data }) => {
      if (path !== "/api/v1/credits") return;
      data.total_usage_nano_usd += 1;
      data.available_nano_usd -= 1;
    },
  },
  "more spent on a day than its receipts come to": {
    caughtBy: ["receipts"],
    tell: (path, { data }) => {
      if (path === "/api/v1/activity added up") data[0].usage_nano_usd += 1;
      if (path !== "/api/v1/credits") return;
      data.total_usage_nano_usd += 1;
      data.available_nano_usd -= 1;
    },
  },
  "less left than there is": {
    caughtBy: ["receipts"],
    tell: (path, { data }) => {
      if (path === "/api/v1/credits") data.available_nano_usd -= 1;
    },
  },
  "no receipt of one use": {
    caughtBy: ["receipts", "leaves"],
    tell: (path, { data }) => {
      if (path === "/api/v1/activity") data.pop();
    },
  },
  "a receipt that pays for two uses": {
    caughtBy: ["receipts"],
    tell: (path, { data }) => {
      if (path === "/api/v1/activity") data.push(data[0]);
    },
  },
  "a use in two batches": {
    caughtBy: ["leaves", "debits"],
    tell: (path, { data }) => {
      if (path === batchPath(second)) data.leaves.push(data.leaves[0]);
    },
  },
  "another day than the leaf has": {
    caughtBy: ["leaves"],
    tell: (path, { data }) => {
      if (path === "/api/v1/activity") data[0].created_at = "2026-01-02T00:00:00.000Z";
    },
  },
  "an agent that did not serve": {
    caughtBy: ["leaves"],
    tell: (path, { data }) => {
      if (path !== "/api/v1/activity") return;
      data[0].served_by = `0x${"a".repeat(40)}`;
      data[0].offer = `0x${"b".repeat(64)}`;
    },
  },
  "a proof that leads elsewhere": {
    caughtBy: ["leaves"],
    tell: (path, { data }) => {
      if (path === batchPath(first)) data.leaves[0].proof[0] = `0x${"c".repeat(64)}`;
    },
  },
  "a batch without one of its uses": {
    caughtBy: ["debits"],
    tell: (path, { data }) => {
      if (path === batchPath(first)) data.leaves.pop();
    },
  },
  "no batch at all": {
    caughtBy: ["debits"],
    tell: (path, answer) => {
      if (path === "/api/v1/batches") answer.data = [];
    },
  },
  "less credit than was activated": {
    caughtBy: ["balance"],
    tell: (path, { data }) => {
      if (path !== "/api/v1/credits") return;
      data.total_credits_nano_usd -= 1;
      data.available_nano_usd -= 1;
    },
  },
  "less spent than was debited": {
    caughtBy: ["receipts", "balance"],
    tell: (path, { data }) => {
      if (path !== "/api/v1/credits") return;
      data.available_nano_usd += data.total_usage_nano_usd;
      data.total_usage_nano_usd = 0;
    },
  },
  "a debit elsewhere that there is not": {
    caughtBy: ["balance"],
    tell: (path, { data }) => {
      if (path !== "/api/v1/credits") return;
      data.total_credits_nano_usd -= 1_000;
      data.available_nano_usd -= 1_000;
      data.debited_elsewhere_nano_usd += 1_000;
    },
  },
  "a charge at other prices, which do not have its model": {
    caughtBy: ["usage"],
    tell: (path, answer) => {
      if (path === "/api/v1/activity") answer.data[0].price_snapshot = NO_PRICES.id;
      if (path !== `/api/v1/prices/${NO_PRICES.id}`) return;
      delete answer.error;
      Object.assign(answer, JSON.parse(NO_PRICES.text));
    },
  },
  "an answer that is none of its kind": {
    caughtBy: ["leaves", "debits"],
    tell: (path, { data }) => {
      if (path === batchPath(first)) data.leaves = [{ id: null, charge_nano_usd: "x", leaf: 5, proof: 7 }];
    },
  },
};

for (const [name, { caughtBy, tell }] of Object.entries(lies)) {
  test(`a gateway that tells of ${name} is caught`, async () => {
    const { checks, outcome } = await verifyLiar(tell);
    equal(outcome, "fail");
    const found = outcomes(checks);
    deepEqual(
      caughtBy.map((id) => [id, found[id]]),
      caughtBy.map((id) => [id, "fail"]),
      JSON.stringify(checks, null, 1),
    );
  });
}

/** Verifies with a gateway that tells something else. */
async function verifyLiar(tell: Lie["tell"], options: { chains?: Record<number, ChainOptions> } = {}) {
  let lied = 0;
  const lyingFetch: typeof fetch = async (input, init) => {
    const { pathname, searchParams } = new URL(String(input));
    const path = searchParams.has("group_by") ? `${pathname} added up` : pathname;
    const response = await fetch(input, init);
    if (!response.ok && !path.startsWith("/api/v1/prices/")) return response;
    const answer = (await response.json()) as Said;
    const before = JSON.stringify(answer);
    tell(path, answer);
    if (JSON.stringify(answer) !== before) lied += 1;
    return Response.json(answer);
  };
  const verdict = await verify(connectionOf({ fetch: lyingFetch, ...options }));
  notEqual(lied, 0, "it told the truth");
  return verdict;
}

test("a gateway that leaves a chain out is caught by the minter's lines, and by who knows the chain", async () => {
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

test("a charge that rests on no usage is not proved, and the check says how much that is", async () => {
  const { checks } = await verifyLiar((path, { data }) => {
    if (path === "/api/v1/activity") data[0].basis = "delivered";
  });
  match(
    checks.find(({ id }) => id === "usage")?.detail ?? "",
    /^5 of 6 charges; 1 others, of \$0\.0\d+, have no count/,
  );
});

/** What a node might say instead. */
const nodeLies: Record<string, { caughtBy: Check["id"]; tell: (evidence: Said) => void }> = {
  "another root": {
    caughtBy: "leaves",
    tell: ({ chain }) => {
      chain.roots[first] = `0x${"d".repeat(64)}`;
    },
  },
  "no root in a final block": {
    caughtBy: "leaves",
    tell: ({ chain }) => {
      chain.roots[first] = `0x${"0".repeat(64)}`;
    },
  },
  "one debit fewer": { caughtBy: "debits", tell: ({ chain }) => chain.debits.pop() },
  "one activation fewer": { caughtBy: "balance", tell: ({ chain }) => chain.activations.pop() },
  "backing that is less than the claims": {
    caughtBy: "books",
    tell: ({ books }) => raise(books.primary, "owedNanoUsd", 1),
  },
  "fewer dollars than the minter books": {
    caughtBy: "books",
    tell: ({ books }) => raise(books.primary, "dollarsToken", -10_000_000_000),
  },
  "tokens of a secondary chain without dollars": {
    caughtBy: "books",
    tell: ({ books }) => raise(books.secondaries[1], "supplyToken", 1_000_000_000_000),
  },
  "an outbox without its dollars": {
    caughtBy: "books",
    tell: ({ books }) => raise(books.secondaries[0], "outboxToken", 1_000_000_000_000),
  },
};

for (const [name, { caughtBy, tell }] of Object.entries(nodeLies)) {
  test(`evidence that tells of ${name} fails`, () => {
    const evidence = structuredClone(honest);
    tell(evidence);
    equal(outcomes(judge(evidence).checks)[caughtBy], "fail");
  });
}

test("receipts that are not kept any more are skipped, by the retention that the gateway names", () => {
  const evidence = structuredClone(honest);
  const old = Date.parse(honest.madeAt) + (honest.said.retentionDays + 1) * 86_400_000;
  evidence.madeAt = new Date(old).toISOString();
  evidence.said.receipts.pop();
  deepEqual(outcomes(judge(evidence).checks), {
    ...{ contract: "pass", prices: "pass", usage: "pass", receipts: "skipped", leaves: "skipped" },
    ...{ debits: "pass", balance: "pass", books: "pass" },
  });
});

test("prices that are not kept any more are skipped, and so are the charges at them", () => {
  const evidence = structuredClone(honest);
  evidence.said.prices = Object.fromEntries(Object.keys(honest.said.prices).map((id) => [id, null]));
  const { prices, usage, receipts } = outcomes(judge(evidence).checks);
  deepEqual([prices, usage, receipts], ["skipped", "skipped", "pass"]);
});

test("a chain that could not be read is skipped, and never passes", () => {
  const evidence = structuredClone(honest);
  evidence.books.secondaries[0] = { chainId: 31_338, unread: "no node" };
  equal(outcomes(judge(evidence).checks).books, "skipped");
});

function outcomes(checks: readonly Check[]): Partial<Record<Check["id"], Check["outcome"]>> {
  return Object.fromEntries(checks.map(({ id, outcome }) => [id, outcome]));
}

function detail(evidence: Evidence, id: Check["id"]): string {
  return judge(evidence).checks.find((check) => check.id === id)?.detail ?? "";
}

function raise(record: Record<string, number | string>, field: string, by: number): void {
  const value = record[field];
  record[field] = typeof value === "string" ? String(BigInt(value) + BigInt(by)) : (value ?? 0) + by;
}

function last<T>(items: readonly T[]): T {
  return items.at(-1) as T;
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

async function chat(key: string, text: string): Promise<void> {
  const answer = await fetch(`${devnet.ready.gatewayUrl}/api/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "alder-4b", max_tokens: 9, messages: [{ role: "user", content: text }] }),
  });
  equal(answer.status, 200, await answer.text());
}

/** Waits until so many uses of the account are in final batches. */
async function settled(uses: number): Promise<void> {
  const client = createClient({ gateway: devnet.ready.gatewayUrl, account: account() });
  for (let found = 0; found < uses; await new Promise((resolve) => setTimeout(resolve, 200))) {
    found = 0;
    for await (const { id, status } of client.batches()) {
      if (status === "final") found += (await client.batch(id)).leaves?.length ?? 0;
    }
  }
}
