import type { ReadyFile } from "@inference/devnet/ready";
import {
  type Address,
  createTestClient,
  encodeAbiParameters,
  type Hex,
  http,
  keccak256,
  type TestClient,
  toHex,
} from "viem";
import type { Client } from "../client.ts";

/** Writes a backer's state into the storage of the devnet's contracts, in place of days that pass. */
const DAY_S = 86_400n;

/** Rewards of the day before yesterday, which the converter would have minted. */
export async function mintRewards(
  client: Client,
  { ready, agentToken, amountToken }: { ready: ReadyFile; agentToken: Address; amountToken: bigint },
): Promise<void> {
  const { vault, test } = contractsOf(ready);
  await client.mint({ amountToken, to: vault });
  const day = BigInt(Math.floor(Date.now() / 1_000)) / DAY_S - 2n;
  const drip = amountToken | (day << 192n) | ((day * DAY_S) << 216n);
  await test.setStorageAt({ address: vault, index: slotOf("address", agentToken, 0n), value: word(drip) });
}

/** Lets an exit's day pass: `readyAt` is beside the receiver. */
export async function ripen(ready: ReadyFile, { exitId, address }: { exitId: bigint; address: Address }) {
  const { pool, test } = contractsOf(ready);
  const value = word(BigInt(address) | (1n << 160n));
  await test.setStorageAt({ address: pool, index: slotOf("uint256", exitId, 1n), value });
}

function contractsOf({ contracts, chains }: ReadyFile): { vault: Address; pool: Address; test: TestClient } {
  const { backerVault, inferencePool } = contracts.primary as Record<string, Address>;
  const test = createTestClient({ mode: "anvil", transport: http(chains[0]?.rpcUrl) });
  return { vault: backerVault ?? "0x", pool: inferencePool ?? "0x", test };
}

/** The slot of a mapping's value. */
function slotOf(type: "address" | "uint256", key: Address | bigint, mapping: bigint): Hex {
  return keccak256(encodeAbiParameters([{ type }, { type: "uint256" }], [key as never, mapping]));
}

function word(value: bigint): Hex {
  return toHex(value, { size: 32 });
}
