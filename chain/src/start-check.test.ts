import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Address } from "@inference/protocol/credential";
import { getAddress } from "viem";
import type { ChainIdentity } from "./chain-identity.ts";
import { startContradiction } from "./start-check.ts";
import { deploySettlement } from "./testing/settlement.ts";
import { beginAnew, chain } from "./testing/shared-chain.ts";
import { clientOf } from "./testing/watch.ts";

beginAnew();

/** With capitals, as people paste them. */
const addressOf = (index: number): Address => getAddress(`0x${"ab".repeat(19)}0${index}`);
const [token, minter, bridge, pool, registry] = [addressOf(1), addressOf(2), addressOf(3), addressOf(4), addressOf(5)];
const stranger = addressOf(6);
const right = {
  TOKEN_ADDRESS: token,
  MINTER_ADDRESS: minter,
  BRIDGE_ADDRESS: bridge,
  POOL_ADDRESS: pool,
  REGISTRY_ADDRESS: registry,
};

let settlement: Address;

const check = (identity: Partial<ChainIdentity> = {}, url = chain.rpcUrl) =>
  startContradiction(clientOf(url), { chainId: 31337, settlement, contracts: right, ...identity });

describe("what the settings say of the chain", () => {
  beforeEach(async () => {
    settlement = await deploySettlement(chain.rpcUrl, { token, minter, bridge, pool, registry });
  });

  test("settings that the chain agrees with, or says nothing of, are not contradicted", async () => {
    const { hash } = await chain.rpc<{ hash: string }>("eth_getBlockByNumber", ["0x0", false]);
    assert.equal(await check({ anchor: { block: 0, hash: hash.toUpperCase().replace("X", "x") } }), undefined);
    assert.equal(await check({ contracts: undefined }), undefined);
    assert.equal(await check({ contracts: { TOKEN_ADDRESS: undefined, POOL_ADDRESS: pool } }), undefined);
  });

  test("a node that cannot be asked, or does not know the anchor yet, contradicts nothing", async () => {
    assert.equal(await check({ contracts: { POOL_ADDRESS: stranger } }, "http://127.0.0.1:9"), undefined);
    assert.equal(await check({ anchor: { block: 9_999, hash: `0x${"00".repeat(32)}` } }), undefined);
  });

  test("another chain is reported with the setting's name and both values", async () => {
    assert.equal(await check({ chainId: 8453 }), "PRIMARY_CHAIN_ID is 8453, and the node is on chain 31337");
    assert.match(
      (await check({ anchor: { block: 0, hash: `0x${"00".repeat(32)}` } })) ?? "",
      /^block 0 is 0x[0-9a-f]{64}, not 0x0{64} as PRIMARY_ANCHOR says/,
    );
  });

  test("no settlement contract, or another's contract in its place, is told by the setting's name", async () => {
    const create2Deployer = "0x4e59b44847b379578588920cA78FbF26c0B4956C";
    for (const address of [stranger, create2Deployer] as const) {
      const said = await check({ settlement: address });
      assert.equal(said, `SETTLEMENT_ADDRESS: there is no settlement contract at ${address}`);
    }
  });

  for (const name of Object.keys(right) as (keyof typeof right)[]) {
    test(`another ${name} than the settlement contract's is told with both`, async () => {
      const part = name.replace("_ADDRESS", "");
      assert.equal(
        await check({ contracts: { ...right, [name]: stranger } }),
        `${name} is ${stranger}, and the settlement contract's ${part} is ${right[name].toLowerCase()}`,
      );
      const bare = await deploySettlement(chain.rpcUrl);
      assert.equal(
        await check({ settlement: bare, contracts: { [name]: right[name] } }),
        `${name} is ${right[name]}, and the settlement contract's ${part} is none`,
      );
    });
  }

  test("another STABLECOIN_ADDRESS than the minter's dollar is told with both, also if the minter is not said", async () => {
    const { settlement, minter, stablecoin, token } = chain;
    const ask = (address: Address, contracts = {}) =>
      check({ settlement, contracts: { ...contracts, STABLECOIN_ADDRESS: address } });
    assert.equal(await ask(getAddress(stablecoin)), undefined);
    assert.equal(await ask(stablecoin, { MINTER_ADDRESS: minter, TOKEN_ADDRESS: token }), undefined);
    // One has no contract, one is another token of six decimals.
    for (const other of [stranger, token]) {
      const said = `STABLECOIN_ADDRESS is ${other}, and the minter's STABLECOIN is ${stablecoin.toLowerCase()}`;
      assert.equal(await ask(other), said);
      assert.equal(await ask(other, { MINTER_ADDRESS: minter }), said);
    }
  });

  test("a STABLECOIN_ADDRESS that no minter takes is told: there is none, or not where the settlement's is", async () => {
    const contracts = { STABLECOIN_ADDRESS: chain.stablecoin };
    const bare = await deploySettlement(chain.rpcUrl);
    const none = `STABLECOIN_ADDRESS is ${chain.stablecoin}, and the minter's STABLECOIN is none`;
    assert.equal(await check({ settlement: bare, contracts }), none);
    for (const other of [stranger, chain.token]) {
      const elsewhere = await deploySettlement(chain.rpcUrl, { minter: other });
      const said = `SETTLEMENT_ADDRESS: there is no minter at ${other.toLowerCase()}, where the settlement's is`;
      assert.equal(await check({ settlement: elsewhere, contracts }), said);
    }
    assert.equal(
      await check({ contracts }, "http://127.0.0.1:9"),
      undefined,
      "a node that cannot be asked says nothing",
    );
  });
});
