import { deepEqual, rejects } from "node:assert/strict";
import { test } from "node:test";
import { scriptedNode } from "@inference/sdk/testing/scripted-node";
import { defineChain, http } from "viem";
import { createConfig, injected } from "wagmi";
import { connect } from "wagmi/actions";

/** A wallet on another chain than its last event said. */
const address = `0x${"9".repeat(40)}` as const;
const hash = `0x${"d".repeat(64)}` as const;
Object.assign(globalThis, { window: globalThis, location: { origin: "https://gateway.example" } });
const { walletAccount } = await import("./account.ts");

const coin = { name: "Coin", symbol: "ETH", decimals: 18 };
const chainOf = (id: number) =>
  defineChain({ id, name: `${id}`, nativeCurrency: coin, rpcUrls: { default: { http: [] } } });

for (const stays of [true, false]) {
  test(`a wallet that has moved goes back first, and one that ${stays ? "stays there sends" : "moves again sends nothing"}`, async () => {
    const asked: string[] = [];
    let at = 1;
    const provider = {
      on: () => undefined,
      removeListener: () => undefined,
      async request({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
        if (method === "eth_requestAccounts" || method === "eth_accounts") return [address];
        if (method === "eth_chainId") {
          const told = `0x${at}`;
          if (asked.length > 0 && !stays) at = 2;
          return told;
        }
        if (method === "wallet_switchEthereumChain") {
          asked.push(method);
          at = 1;
          return null;
        }
        if (method !== "eth_sendTransaction") return scriptedNode(at, () => undefined)({}).request({ method, params });
        asked.push(`${method} on ${at}`);
        return hash;
      },
    };
    const connector = injected({ target: () => ({ id: "fake", name: "Fake", provider: provider as never }) });
    const chains = [chainOf(1), chainOf(2)] as const;
    const transports = { 1: http("http://127.0.0.1:1"), 2: http("http://127.0.0.1:1") };
    const config = createConfig({
      chains,
      connectors: [connector],
      storage: null,
      transports,
      multiInjectedProviderDiscovery: false,
    });
    await connect(config, { connector: config.connectors[0] ?? connector });
    const account = walletAccount(config, address);
    at = 2;
    const sending = account.sendTransaction({ chainId: 1, to: address, data: "0x", value: 1n });
    if (stays) {
      await sending;
      deepEqual(asked, ["wallet_switchEthereumChain", "eth_sendTransaction on 1"]);
    } else {
      await rejects(sending, /does not match the target chain/);
      deepEqual(asked, ["wallet_switchEthereumChain"]);
    }
  });
}
