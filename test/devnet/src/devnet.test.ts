import { deepEqual, equal, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { isSignedBy } from "@inference/protocol/signed-receipt";
import { eventually } from "@inference/protocol/testing/eventually";
import OpenAI from "openai";
import {
  type Address,
  createPublicClient,
  type Hex,
  hexToBytes,
  http,
  pad,
  stringToHex,
  zeroAddress,
  zeroHash,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { exampleModel } from "./customer.ts";
import { startDevnet } from "./devnet.ts";
import { curlLine } from "./ready.ts";
import { spent } from "./testing/api.ts";
import { anyPorts } from "./testing/launch.ts";
import { shareDevnet, sharedDevnet, type TestedDevnet } from "./testing/shared-devnet.ts";

let whole: TestedDevnet;
let devnet: TestedDevnet;

before(async () => {
  whole = await sharedDevnet();
  devnet = await shareDevnet(1);
});

test("ready.json says where everything is, and is for its owner's eyes", async () => {
  const { ready, folder } = whole;
  equal(statSync(join(folder, "ready.json")).mode & 0o777, 0o600);
  deepEqual(
    ready.chains.map(({ name, chainId }) => [name, chainId]),
    [
      ["primary", 31337],
      ["secondary1", 31338],
      ["secondary2", 31339],
    ],
  );
  const namesOn = (chain: string) => Object.keys(ready.contracts[chain] ?? {});
  for (const chain of ["primary", "secondary1", "secondary2"]) {
    for (const name of ["inferenceToken", "tokenMinter", "tokenBridge", "stablecoin"])
      ok(namesOn(chain).includes(name));
    equal(namesOn(chain).includes("inferenceSettlement"), chain === "primary");
    equal(namesOn(chain).includes("tokenBackingOutbox"), chain !== "primary");
  }
  for (const wallet of ready.wallets) equal(privateKeyToAccount(wallet.privateKey).address, wallet.address);
  deepEqual(
    ready.wallets.map((wallet) => wallet.activated),
    [true, false, false, false, false],
  );
  const models = (await (await fetch(`${ready.provider.url}/models`)).json()) as { data: { id: string }[] };
  ok(models.data.length > 0 && models.data.every(({ id }) => !/^(sim|fault)-/.test(id)), "none that only tests need");
});

test("the curl line works in a shell, and costs what the balance loses", async () => {
  const before = await spent(devnet.ready);
  const curl = curlLine(devnet.ready, await exampleModel(devnet.ready.gatewayUrl));
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", `${curl} -s`]);
  const answer = JSON.parse(stdout) as { choices: { message: { content: string } }[]; usage: { cost: number } };
  ok((answer.choices[0]?.message.content.length ?? 0) > 0);
  ok(answer.usage.cost > 0);
  await eventually(async () => (await spent(devnet.ready)) - before === Math.round(answer.usage.cost * 1e9));
});

test("a charge is settled on chain by itself, and the contract confirms its proof", async () => {
  const { gatewayUrl, apiKey, chains, wallets } = devnet.ready;
  const client = new OpenAI({ baseURL: `${gatewayUrl}/api/v1`, apiKey, maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "Settle this." }];
  const answer = await client.chat.completions.create({ model: "alder-4b", messages, max_tokens: 8 });
  const headers = { authorization: `Bearer ${apiKey}` };
  const read = async (path: string) =>
    ((await (await fetch(`${gatewayUrl}${path}`, { headers })).json()) as Answer).data;
  const path = `/api/v1/generation?id=${answer.id}`;
  await eventually(async () => (await read(path))?.settlement.status === "final");
  const { id, created_at, charge_nano_usd, price_snapshot, signed_receipt, settlement } = (await read(path)) as Data;
  const { ends_at_nano_usd, statement, proof, record } = settlement;
  ok(statement !== null && proof !== null && record !== null);
  const reader = createPublicClient({ transport: http(chains[0]?.rpcUrl) });
  const account = wallets[0]?.address as Address;
  const startsAt = Math.max(statement.before_nano_usd, ends_at_nano_usd - charge_nano_usd);
  const use = {
    ...{ account, receipt: stringToHex(id, { size: 32 }), endsAtNanoUsd: BigInt(ends_at_nano_usd) },
    ...{ costNanoUsd: BigInt(charge_nano_usd), chargedNanoUsd: BigInt(ends_at_nano_usd - startsAt) },
    dayServed: BigInt(Math.floor(Date.parse(created_at) / 86_400_000)),
    ...{ server: zeroAddress, offerHash: zeroHash, snapshot: pad(`0x${price_snapshot}`, { dir: "right", size: 32 }) },
  };
  const booked = {
    ...{ account, root: record.root, parts: [] },
    ...{ beforeNanoUsd: BigInt(record.before_nano_usd), amountNanoUsd: BigInt(record.amount_nano_usd) },
  };
  const onChain = { address: contractAddress("inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  const verify = (claimed: typeof use) =>
    reader.readContract({
      ...onChain,
      functionName: "verify",
      args: [claimed, proof, booked, record.proof],
    });
  equal(await verify(use), true);
  equal(await verify({ ...use, costNanoUsd: use.costNanoUsd - 1n }), false);
  const receiptKey = await reader.readContract({ ...onChain, functionName: "receiptKey" });
  ok(await isSignedBy(hexToBytes(receiptKey), signed_receipt), "with the key that the contract names");
  // The gateway keeps the books for ten seconds, so they may be older than the settlement.
  const status = (await read("/api/v1/status")) as unknown as { books: { adds_up: boolean } };
  ok(status.books.adds_up);
});

type Data = {
  id: string;
  created_at: string;
  charge_nano_usd: number;
  price_snapshot: string;
  signed_receipt: string;
  settlement: {
    status: string;
    ends_at_nano_usd: number;
    statement: { before_nano_usd: number } | null;
    proof: Hex[] | null;
    record: { before_nano_usd: number; amount_nano_usd: number; root: Hex; proof: Hex[] } | null;
  };
};
type Answer = { data?: Data };

test("one devnet at a time has a folder", async () => {
  const environment = { ...process.env, ...anyPorts, DEVNET_DIR: whole.folder };
  const second = startDevnet({ environment });
  await second.then(
    async (other) => {
      await other.stop();
      throw new Error("it started");
    },
    (error: unknown) => ok(/Another devnet is running/.test(String(error)), String(error)),
  );
  equal((await fetch(`${devnet.ready.gatewayUrl}/healthz`)).status, 200);
});

function contractAddress(name: string): Address {
  const address = devnet.ready.contracts.primary?.[name];
  ok(address !== undefined, name);
  return address;
}
