import { doesNotThrow, equal, match, ok, throws } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Address, zeroAddress } from "viem";
import {
  checkDeploymentConfig,
  type DeploymentConfig,
  MIN_MESSAGE_GAS,
  parseDeploymentConfig,
} from "./deployment-config.ts";

const address = (digit: string): Address => `0x${digit.repeat(40)}`;
const layerZero = {
  endpoint: address("1"),
  sendLibrary: address("2"),
  receiveLibrary: address("3"),
  executor: address("4"),
  verifiers: [address("5"), address("6")],
  confirmations: 20,
  maxMessageBytes: 10_000,
};
const side = { stablecoin: address("7"), proposer: address("8"), guardian: address("9") };
const receiptKey = `0x${"c".repeat(64)}` as const;
const primary = { settler: address("a"), provider: address("b"), receiptKey };
const chains = {
  here: { ...side, chainId: 1, primary, layerZero: { ...layerZero, eid: 30_101 } },
  there: {
    ...{ ...side, chainId: 2, dollarOft: address("c"), dollarOftOnPrimary: address("e") },
    layerZero: { ...layerZero, eid: 30_102 },
  },
};
const config: DeploymentConfig = {
  deployer: address("d"),
  timelockDelaySeconds: 172_800n,
  dailyMintCap: 100_000_000_000n,
  messageGas: 150_000n,
  chains,
};

test("fields that are missing, unknown or of another type are reported together, each by its path", () => {
  const { dailyMintCap: _, ...others } = config;
  const file = {
    ...{ ...others, timelockDelaySeconds: -1, messageGas: "150000", unknown: 1 },
    chains: { here: { ...chains.here, primary: null }, there: { ...chains.there, chainId: 2.5, agents: [] } },
  };
  throws(() => parseDeploymentConfig(JSON.stringify(file)), {
    message:
      "timelockDelaySeconds must be a whole number, not below zero. dailyMintCap must be a whole number in a text. " +
      "messageGas must be a whole number, not below zero. chains.here.primary must be an object. " +
      "chains.there.chainId must be a whole number, not below zero. chains.there.agents must be an object. " +
      "unknown is unknown.",
  });
  throws(() => parseDeploymentConfig("[]"), { message: "The file must be an object." });
});

test("a receipt key is 32 bytes that are not all zero", () => {
  for (const receiptKey of ["", "0x", `0x${"0".repeat(64)}`, `0x${"c".repeat(63)}`, "c".repeat(64), 7]) {
    const file = { ...config, chains: { ...chains, here: { ...chains.here, primary: { ...primary, receiptKey } } } };
    const text = JSON.stringify(file, (_, value) => (typeof value === "bigint" ? String(value) : value));
    throws(() => parseDeploymentConfig(text), /chains\.here\.primary\.receiptKey must be a key: 0x and 64/);
  }
});

test("a timelock delay in hours or in milliseconds is refused", () => {
  doesNotThrow(() => checkDeploymentConfig(config));
  for (const timelockDelaySeconds of [0n, 48n, 172_799n, 604_801n, 172_800_000n]) {
    refuses({ timelockDelaySeconds }, /^timelockDelaySeconds must be from 172800 \(48 hours\) to 604800\.$/);
  }
});

test("settings with which no message could be sent are refused", () => {
  refuses({ dailyMintCap: 0n }, /dailyMintCap must be above zero/);
  refuses({ dailyMintCap: 2n ** 96n }, /below 2\^96/);
  refuses({ messageGas: 0n }, /messageGas must be at least 140000/);
  for (const maxMessageBytes of [0, 52]) {
    const here = { ...chains.here, layerZero: { ...chains.here.layerZero, maxMessageBytes } };
    refuses({ chains: { ...chains, here } }, /chains\.here\.layerZero\.maxMessageBytes must be at least 53/);
  }
});

test("the minimum message gas pays for the first delivery of each kind", () => {
  const snapshot = JSON.parse(readFileSync(new URL("../snapshots/TokenBridge.json", import.meta.url), "utf8"));
  const deliveries = Object.entries<string>(snapshot).filter(([name]) => name.startsWith("first lzReceive"));
  equal(deliveries.length, 4);
  // The entries are whole transactions, and the message gas does not pay for the transaction itself.
  const highest = Math.max(...deliveries.map(([, gas]) => Number(gas) - 21_000));
  ok(highest <= Number(MIN_MESSAGE_GAS), String(highest));
});

test("a single chain needs no settings of messages", () => {
  const { layerZero: _, ...here } = chains.here;
  doesNotThrow(() => checkDeploymentConfig({ ...config, dailyMintCap: 0n, messageGas: 0n, chains: { here } }));
});

test("the provider, guardian and proposer must be set; the settler may be revoked", () => {
  const withPrimary = (change: object) => {
    return { chains: { ...chains, here: { ...chains.here, primary: { ...primary, ...change } } } };
  };
  refuses(withPrimary({ provider: zeroAddress }), /chains\.here: the provider is nobody\./);
  for (const role of ["guardian", "proposer"] as const) {
    const there = { ...chains.there, [role]: zeroAddress };
    refuses({ chains: { ...chains, there } }, new RegExp(`chains\\.there: the ${role} is nobody\\.`));
  }
  doesNotThrow(() => checkDeploymentConfig({ ...config, ...withPrimary({ settler: zeroAddress }) }));
});

test("the guardian cannot be the proposer", () => {
  const there = { ...chains.there, guardian: side.proposer };
  equal(refuses({ chains: { ...chains, there } }, /guardian/), "chains.there: the guardian is the proposer, too.");
});

test("the settler cannot be guardian, proposer or provider", () => {
  const { provider } = primary;
  for (const [role, holder] of Object.entries({ provider, guardian: side.guardian, proposer: side.proposer })) {
    const here = { ...chains.here, primary: { ...primary, settler: holder } };
    const wrong = refuses({ chains: { ...chains, here } }, /the settler is the/);
    equal(wrong, `chains.here: the settler is the ${role}, too.`);
  }
});

/** Returns the error's message. */
function refuses(change: object, pattern: RegExp): string {
  let message = "";
  throws(
    () => checkDeploymentConfig({ ...config, ...change }),
    (error: Error) => {
      message = error.message;
      match(message, pattern);
      return true;
    },
  );
  return message;
}
