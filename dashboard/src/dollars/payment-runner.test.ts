import { deepEqual, equal } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import type { WalletAccount } from "@inference/sdk/connection";
import type { Payment } from "@inference/sdk/payment";
import {
  connectionTo,
  contracts,
  logOf,
  payingNode,
  quietNode,
  receiptOf,
  signer,
  walletThat,
  word,
} from "@inference/sdk/testing/scripted-node";
import { encodeEventTopics, type Transport, zeroAddress } from "viem";
import type { PaymentRunner, PaymentView } from "./payment-runner.ts";
import { keepPayment, readPayment } from "./payment-store.ts";

/** The page's runner of the payment machine: its tabs, its storage, and the ways out of each wait. */
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

const payment: Payment = {
  ...{ chainId: 1, amountToken: "1000000", pay: "approve", isMinted: false, isCredited: false },
  ...{ kept: null, shown: null },
};
const asked = {
  ...({ step: "mint" } as const),
  ...{ chainId: 1, fromBlock: 1, moves: { from: zeroAddress, to: address, amountToken: "1000000" }, allows: null },
};

const never = () => new Promise<never>(() => {});

/** A tab of the browser, with its own module, and shared locks and storage. */
let tabs = 0;
async function openTab(account: WalletAccount, node: Transport) {
  tabs += 1;
  const module = (await import(`./payment-runner.ts?${tabs}`)) as typeof import("./payment-runner.ts");
  const connection = connectionTo(node, quietNode(2), { account });
  let view: PaymentView | undefined;
  const runner = module.paymentRunner(connection, address, (now) => {
    view = now;
  });
  return {
    runner,
    view: () => view,
    until: (is: (view: PaymentView) => boolean) => until(() => view !== undefined && is(view)),
  };
}

async function until(isSo: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 5_000; !isSo(); ) {
    if (Date.now() > deadline) throw new Error("It did not happen within 5 s.");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function ended(tab: { runner: PaymentRunner; until(is: (view: PaymentView) => boolean): Promise<void> }) {
  await tab.until(({ isRunning, isElsewhere }) => !isRunning && !isElsewhere);
}

test("a wait for a transaction that the chain never shows can be stopped, and the payment is kept", async () => {
  keepPayment(address, { ...payment, kept: { ...asked, hash } });
  const tab = await openTab(walletThat(never), payingNode());
  tab.runner.open();
  await tab.until(({ isRunning }) => isRunning);
  tab.runner.stop();
  await ended(tab);
  equal(readPayment(address)?.kept?.hash, hash);
  tab.runner.close();
});

const transfer = logOf(contracts.inferenceToken, {
  topics: encodeEventTopics({
    ...{ abi: inferenceTokenAbi, eventName: "Transfer", args: { from: zeroAddress, to: address } },
  }),
  ...{ data: word(1_000_000n), hash, block: 50 },
});

test("a given-up transaction is searched for first, and again before the wallet is asked anew", async () => {
  keepPayment(address, { ...payment, kept: asked });
  let isMined = false;
  const late = payingNode((method) => {
    if (!isMined) return undefined;
    if (method === "eth_getLogs") return [transfer];
    return method === "eth_getTransactionReceipt" ? receiptOf(hash, { logs: [transfer] }) : undefined;
  });
  const wallet = walletThat(never);
  const tab = await openTab(wallet, late);
  tab.runner.notSent();
  await tab.until(({ payment, isRunning }) => !isRunning && payment?.kept === null);
  // The owner confirms the open request.
  isMined = true;
  tab.runner.goOn();
  await until(() => readPayment(address)?.isMinted === true);
  await until(() => wallet.asked === 1);
  equal(readPayment(address)?.kept?.step, "activate");
  tab.runner.close();

  keepPayment(address, { ...payment, kept: asked });
  const unasked = walletThat(never);
  const other = await openTab(unasked, late);
  other.runner.notSent();
  await other.until(({ payment, isRunning }) => !isRunning && payment?.isMinted === true);
  equal(unasked.asked, 0);
  other.runner.close();
});

test("one tab at a time runs a payment, and the next one continues from the stored state", async () => {
  const [first, second] = [walletThat(never), walletThat(never)];
  const [tab, other] = [await openTab(first, payingNode()), await openTab(second, payingNode())];
  tab.runner.begin(payment);
  await until(() => first.asked === 1);
  other.runner.begin({ ...payment, amountToken: "2000000" });
  await other.until(({ isElsewhere }) => isElsewhere);
  equal(other.view()?.payment?.amountToken, "1000000");
  tab.runner.close();
  await ended(other);
  other.runner.goOn();
  await other.until(({ isRunning }) => isRunning);
  await new Promise((resolve) => setTimeout(resolve, 50));
  deepEqual([second.asked, readPayment(address)?.kept?.step], [0, "mint"]);
  other.runner.close();
});
