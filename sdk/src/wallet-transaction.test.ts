import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { before, test } from "node:test";
import { shareDevnet, type TestedDevnet } from "@inference/devnet/testing/shared-devnet";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { type Address, createPublicClient, createTestClient, createWalletClient, http } from "viem";
import { mnemonicToAccount, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { type AskedTransaction, type Client, createClient, type Progress, type WalletAccount } from "./index.ts";
import { nodeWallet, safeWallet } from "./testing/node-wallet.ts";

/** The library with wallets that only send, over a devnet's chains. */
const DOLLAR = 1_000_000n;
const PRIMARY = 31_337;
let devnet: TestedDevnet;
let nodes: Record<number, string>;

before(async () => {
  devnet = await shareDevnet();
  nodes = Object.fromEntries(devnet.ready.chains.map(({ chainId, rpcUrl }) => [chainId, rpcUrl]));
});

function clientOf(account: WalletAccount): Client {
  return createClient({ gateway: devnet.ready.gatewayUrl, account, pollMs: 50 });
}

function walletOf(index: number): WalletAccount {
  return nodeWallet(nodes, accountOf(index));
}

function accountOf(index: number): PrivateKeyAccount {
  return privateKeyToAccount(devnet.ready.wallets[index]?.privateKey ?? "0x");
}

for (const [chainId, pay] of [
  [PRIMARY, "permit"],
  [PRIMARY, "approve"],
  [31_338, undefined],
] as const) {
  test(`a wallet sends what becomes balance, on chain ${chainId} by ${pay ?? "approval, as its dollar has no permit"}`, async () => {
    const client = clientOf(walletOf(1));
    const before = (await client.credits()).total_credits_nano_usd;
    const told: Progress[] = [];
    const onProgress = (progress: Progress) => void told.push(progress);
    await client.mint({ amountToken: DOLLAR, chainId, onProgress, ...(pay === undefined ? {} : { pay }) });
    await client.activateFrom({ amountToken: DOLLAR, chainId, onProgress });
    equal((await client.credits()).total_credits_nano_usd, before + 1_000_000_000);
    const stages = told.filter(({ stage }) => stage !== "waiting").map(({ stage }) => stage);
    const each = ["asked", "sent", "confirmed"];
    deepEqual(stages, [...(pay === "permit" ? [] : each), ...each, ...each, "final", "credited"]);
  });
}

for (const knows of ["the hash", "only what was asked"] as const) {
  test(`interrupted, a step goes on with ${knows}, and nothing is sent twice`, async () => {
    let sent = 0;
    const wallet = walletOf(2);
    const counted: WalletAccount = {
      ...wallet,
      sendTransaction: (call) => {
        sent += 1;
        return wallet.sendTransaction(call);
      },
    };
    const client = clientOf(counted);
    let kept: AskedTransaction | undefined;
    const dieWhenSent = (progress: Progress) => {
      if (progress.stage === "asked") kept = progress;
      if (progress.stage !== "sent") return;
      if (knows === "the hash" && kept !== undefined) kept = { ...kept, hash: progress.hash };
      throw new Error("the page is closed");
    };
    const before = await client.credits();
    await rejects(client.mint({ amountToken: DOLLAR, onProgress: dieWhenSent }), /page is closed/);
    const resumed = await clientOf(counted).resume(JSON.parse(JSON.stringify(kept ?? {})) as AskedTransaction);
    equal((await clientOf(counted).resume(kept ?? resumeNothing())).hash, resumed.hash);
    await rejects(client.activate({ amountToken: DOLLAR, onProgress: dieWhenSent }), /page is closed/);
    await clientOf(counted).resume(kept ?? resumeNothing());
    equal(sent, 2);
    equal((await client.credits()).total_credits_nano_usd, before.total_credits_nano_usd + 1_000_000_000);
  });
}

test("a transaction that a wallet replaced is found by its effect", async () => {
  const wallet = walletOf(2);
  const otherHash: WalletAccount = {
    ...wallet,
    async sendTransaction(call) {
      await wallet.sendTransaction(call);
      return `0x${"12".repeat(32)}`;
    },
  };
  const { hash } = await clientOf(otherHash).mint({ amountToken: DOLLAR, pay: "permit" });
  const { reader } = readerOf();
  equal((await reader.getTransactionReceipt({ hash })).status, "success");
});

test("an unknown approval does not hang, and a signal ends the search", async () => {
  const client = clientOf(walletOf(2));
  const nothing = { chainId: PRIMARY, fromBlock: 0, moves: null } as const;
  await rejects(client.resume({ step: "approve", ...nothing }), { code: "lost_transaction" });
  const { address } = walletOf(2);
  const moves = { from: address, to: address, amountToken: "999" };
  const signal = AbortSignal.timeout(200);
  await rejects(client.resume({ ...nothing, step: "mint", moves }, { signal }), { name: "TimeoutError" });
});

test("a wallet that declines, or has no coin for gas, is told apart, and nothing was sent", async () => {
  const declines = () => Promise.reject(Object.assign(new Error("no"), { code: 4001 }));
  const wallet = walletOf(3);
  const client = clientOf({ ...wallet, signMessage: declines, sendTransaction: declines });
  await rejects(client.mint({ amountToken: DOLLAR }), { code: "wallet_rejected" });
  await rejects(client.createKey(), { code: "wallet_rejected" });
  const failing = { ...wallet, sendTransaction: () => Promise.reject(new Error("the device is locked")) };
  await rejects(clientOf(failing).mint({ amountToken: DOLLAR }), { code: "wallet_failed" });
  const { reader, test } = readerOf();
  const balance = await reader.getBalance({ address: wallet.address });
  await test.setBalance({ address: wallet.address, value: 1_000n });
  const needs = new RegExp(`needs about 0\\.0*[1-9]\\d?\\. Send as much to ${wallet.address}`);
  await rejects(clientOf(wallet).mint({ amountToken: DOLLAR }), { code: "insufficient_gas", message: needs });
  await test.setBalance({ address: wallet.address, value: 0n });
  const approval = clientOf(wallet).mint({ amountToken: DOLLAR, pay: "approve" });
  await rejects(approval, { code: "insufficient_gas", message: needs });
  await test.setBalance({ address: wallet.address, value: balance });
});

test("a Safe gets dollars in by approval, signs for a key, and has the balance", async () => {
  const safe = devnet.ready.contracts.primary?.protocolSafe ?? "0x";
  const owner = mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex: 7 });
  const { reader } = readerOf();
  const dollar = { address: devnet.ready.contracts.primary?.stablecoin ?? "0x", abi: stablecoinAbi } as const;
  const giver = createWalletClient({ account: accountOf(4), transport: http(nodes[PRIMARY]) });
  await giver.writeContract({ ...dollar, functionName: "transfer", args: [safe, 5n * DOLLAR], chain: null });
  const client = clientOf(safeWallet(nodes, { safe, owner: owner.address, chainId: PRIMARY }));
  const steps: string[] = [];
  const onProgress = ({ step, stage }: Progress) => void steps.push(`${step} ${stage}`);
  await client.mint({ amountToken: 5n * DOLLAR, onProgress });
  ok(steps.includes("approve confirmed"));
  equal(await tokensOf(safe), 5n * DOLLAR);
  await client.activate({ amountToken: 5n * DOLLAR, onProgress });
  equal((await client.credits()).total_credits_nano_usd, 5_000_000_000);
  const { data } = await client.createKey({ name: "the Safe's" });
  deepEqual([(await client.keys.change(data.id, { disabled: true })).disabled], [true]);
  equal(await reader.getBalance({ address: safe }), 0n);
});

test("a session that is given is used, and without an account it is not opened again", async () => {
  const { signIn } = await import("./session.ts");
  const session = await signIn(clientOf(walletOf(1)).connection);
  const gateway = devnet.ready.gatewayUrl;
  equal(typeof (await createClient({ gateway, session }).credits()).available_nano_usd, "number");
  await rejects(createClient({ gateway, session: `${session}x` }).credits(), { code: "no_credential" });
});

function readerOf() {
  const transport = http(nodes[PRIMARY]);
  return {
    reader: createPublicClient({ transport, cacheTime: 0 }),
    test: createTestClient({ mode: "anvil", transport }),
  };
}

function tokensOf(address: Address): Promise<bigint> {
  const token = { address: devnet.ready.contracts.primary?.inferenceToken ?? "0x", abi: inferenceTokenAbi } as const;
  return readerOf().reader.readContract({ ...token, functionName: "balanceOf", args: [address] });
}

function resumeNothing(): never {
  throw new Error("Nothing was told as asked.");
}
