import { deepEqual, equal } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import type { WalletAccount } from "@inference/sdk/connection";
import {
  connectionTo,
  contracts,
  logOf,
  quietNode,
  receiptOf,
  scriptedNode,
  signer,
  word,
} from "@inference/sdk/testing/scripted-node";
import { encodeEventTopics, type Transport, zeroAddress } from "viem";
import { keepPlan, type Plan, readPlan } from "./plan.ts";
import type { PlanRunner, PlanView } from "./plan-runner.ts";

/** What a page does with a wallet's plan: nothing is paid twice, and no wait is without a way out. */
const hash = `0x${"d".repeat(64)}` as const;
const { address } = signer;
const stored = new Map<string, string>();
const page = new EventTarget();
Object.assign(globalThis, {
  location: { origin: "https://gateway.example" },
  addEventListener: page.addEventListener.bind(page),
  removeEventListener: page.removeEventListener.bind(page),
});
Object.defineProperty(globalThis, "localStorage", {
  value: {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, text: string) => void stored.set(name, text),
    removeItem: (name: string) => void stored.delete(name),
  },
});
beforeEach(() => stored.clear());

const plan: Plan = {
  ...{ chainId: 1, amountToken: "1000000", pay: "approve", isMinted: false, isCredited: false },
  ...{ kept: null, shown: null, startedAt: 0 },
};
const asked = {
  ...({ step: "mint" } as const),
  ...{ chainId: 1, fromBlock: 1, moves: { from: zeroAddress, to: address, amountToken: "1000000" }, allows: null },
};

/** A wallet that answers so, and how often it was asked. */
function walletThat(answer: () => Promise<`0x${string}`>): WalletAccount & { asked: number } {
  const { signMessage, signTypedData } = signer;
  const wallet = {
    ...{ type: "wallet" as const, address, asked: 0, signMessage, signTypedData },
    sendTransaction: () => {
      wallet.asked += 1;
      return answer();
    },
  };
  return wallet;
}

const failing = (code: number) => () => Promise.reject(Object.assign(new Error("Internal JSON-RPC error"), { code }));
const never = () => new Promise<never>(() => {});

/** The dollar has 6 decimals, all is approved, and what else the chain tells. */
function chain(answer: (method: string) => unknown = () => undefined): Transport {
  return scriptedNode(1, (method, [call]) => {
    if (method !== "eth_call") return answer(method);
    const { to, data } = call as { to: string; data: string };
    if (to === contracts.tokenMinter) return word(1n);
    return word(data.startsWith("0x313ce567") ? 6n : 10n ** 12n);
  });
}

/** A tab of the browser. The module of each is its own, and locks and storage are shared. */
let tabs = 0;
async function openTab(account: WalletAccount, node: Transport) {
  tabs += 1;
  const module = (await import(`./plan-runner.ts?${tabs}`)) as typeof import("./plan-runner.ts");
  const connection = connectionTo(node, quietNode(2), { account });
  let view: PlanView | undefined;
  const runner = module.planRunner(connection, address, (now) => {
    view = now;
  });
  return {
    runner,
    view: () => view,
    until: (is: (view: PlanView) => boolean) => until(() => view !== undefined && is(view)),
  };
}

async function until(isSo: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 5_000; !isSo(); ) {
    if (Date.now() > deadline) throw new Error("It did not happen within 5 s.");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function ended(tab: { runner: PlanRunner; until(is: (view: PlanView) => boolean): Promise<void> }) {
  await tab.until(({ isRunning, isElsewhere }) => !isRunning && !isElsewhere);
}

test("after an error of the wallet that is no refusal, what was asked is kept and looked for, and not asked again", async () => {
  const wallet = walletThat(failing(-32_603));
  const tab = await openTab(wallet, chain());
  tab.runner.begin(plan);
  await tab.until(({ error }) => error !== undefined);
  equal(readPlan(address)?.kept?.step, "mint");
  tab.runner.goOn();
  await tab.until(({ isRunning }) => isRunning);
  await new Promise((resolve) => setTimeout(resolve, 50));
  equal(wallet.asked, 1);
  tab.runner.close();
});

test("what the owner of a wallet declines is asked again", async () => {
  const wallet = walletThat(failing(4_001));
  const tab = await openTab(wallet, chain());
  tab.runner.begin(plan);
  await tab.until(({ error }) => error !== undefined);
  equal(readPlan(address)?.kept, null);
  tab.runner.goOn();
  await until(() => wallet.asked === 2);
  tab.runner.close();
});

test("a transaction that reverted is over", async () => {
  keepPlan(address, { ...plan, kept: { ...asked, hash } });
  const reverted = chain((method) =>
    method === "eth_getTransactionReceipt" ? receiptOf(hash, { isReverted: true }) : undefined,
  );
  const wallet = walletThat(never);
  const tab = await openTab(wallet, reverted);
  tab.runner.open();
  await tab.until(({ error }) => error !== undefined);
  equal(readPlan(address)?.kept, null);
  tab.runner.goOn();
  await until(() => wallet.asked === 1);
  tab.runner.close();
});

test("a wait for a transaction that the chain never shows can be stopped, and is kept", async () => {
  keepPlan(address, { ...plan, kept: { ...asked, hash } });
  const tab = await openTab(walletThat(never), chain());
  tab.runner.open();
  await tab.until(({ isRunning }) => isRunning);
  tab.runner.stop();
  await ended(tab);
  equal(readPlan(address)?.kept?.hash, hash);
  tab.runner.close();
});

const transfer = logOf(contracts.inferenceToken, {
  topics: encodeEventTopics({
    ...{ abi: inferenceTokenAbi, eventName: "Transfer", args: { from: zeroAddress, to: address } },
  }),
  ...{ data: word(1_000_000n), hash, block: 50 },
});

test("what is given up is looked for first, and again before the wallet is asked anew", async () => {
  keepPlan(address, { ...plan, kept: asked });
  let isMined = false;
  const late = chain((method) => {
    if (!isMined) return undefined;
    if (method === "eth_getLogs") return [transfer];
    return method === "eth_getTransactionReceipt" ? receiptOf(hash, { logs: [transfer] }) : undefined;
  });
  const wallet = walletThat(never);
  const tab = await openTab(wallet, late);
  tab.runner.notSent();
  await tab.until(({ plan, isRunning }) => !isRunning && plan?.kept === null);
  // Its owner confirms the request that was still open.
  isMined = true;
  tab.runner.goOn();
  await until(() => readPlan(address)?.isMinted === true);
  await until(() => wallet.asked === 1);
  equal(readPlan(address)?.kept?.step, "activate");
  tab.runner.close();

  keepPlan(address, { ...plan, kept: asked });
  const unasked = walletThat(never);
  const other = await openTab(unasked, late);
  other.runner.notSent();
  await other.until(({ plan, isRunning }) => !isRunning && plan?.isMinted === true);
  equal(unasked.asked, 0);
  other.runner.close();
});

test("one tab at a time runs a plan, and the next one takes it as it is kept then", async () => {
  const [first, second] = [walletThat(never), walletThat(never)];
  const [tab, other] = [await openTab(first, chain()), await openTab(second, chain())];
  tab.runner.begin(plan);
  await until(() => first.asked === 1);
  other.runner.begin({ ...plan, amountToken: "2000000" });
  await other.until(({ isElsewhere }) => isElsewhere);
  equal(other.view()?.plan?.amountToken, "1000000");
  tab.runner.close();
  await ended(other);
  other.runner.goOn();
  await other.until(({ isRunning }) => isRunning);
  await new Promise((resolve) => setTimeout(resolve, 50));
  deepEqual([second.asked, readPlan(address)?.kept?.step], [0, "mint"]);
  other.runner.close();
});
