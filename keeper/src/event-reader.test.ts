import { deepEqual } from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Anvil, startAnvil } from "@inference/contracts/anvil";
import { deployLocalToken, fundLocalToken } from "@inference/contracts/local-token";
import { type Address, createTestClient, erc20Abi, http } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { createEventReader } from "./event-reader.ts";
import { connectKeeperChain } from "./keeper-chain.ts";

const issuer = mnemonicToAccount("test test test test test test test test test test test junk");
const to: Address = "0x1111111111111111111111111111111111111111";
let anvil: Anvil;
let token: Address;

before(async () => {
  anvil = await startAnvil(31337);
  token = await deployLocalToken({ rpcUrl: anvil.rpcUrl, issuer, name: "Dollar", symbol: "USDL" });
});
after(() => anvil[Symbol.asyncDispose]());

test("an event that a reorganization took back is forgotten, and what came in its place is told once, in order", async () => {
  const { rpcUrl } = anvil;
  const chain = createTestClient({ mode: "anvil", transport: http(rpcUrl) });
  const settings = { name: "primary", chainId: 31337, eid: 31337, rpcUrl, startBlock: 0, contracts: {} };
  const source = { address: token, abi: erc20Abi, eventName: "Transfer" } as const;
  const transfers = createEventReader(connectKeeperChain(settings, issuer), source);
  const amounts = async () => (await transfers()).map(({ args }) => args.value);
  const fund = (amount: bigint) => fundLocalToken({ rpcUrl, token, issuer, to, amount });

  await fund(1n);
  const snapshot = await chain.snapshot();
  await fund(2n);
  await fund(3n);
  deepEqual(await amounts(), [1n, 2n, 3n]);

  await chain.revert({ id: snapshot });
  await fund(4n);
  await chain.mine({ blocks: 2 });
  deepEqual(await amounts(), [1n, 4n]);
  await fund(5n);
  deepEqual(await amounts(), [1n, 4n, 5n]);
});
