import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Anvil, startAnvil } from "@inference/contracts/anvil";
import { dollarPool } from "@inference/contracts/generated/dollar-pool";
import { localToken } from "@inference/contracts/generated/local-token";
import { ascending } from "@inference/contracts/layerzero-options";
import { receiptOf } from "@inference/contracts/receipt";
import {
  type Address,
  createPublicClient,
  createWalletClient,
  decodeAbiParameters,
  http,
  keccak256,
  pad,
  parseAbi,
  parseEventLogs,
  slice,
  toHex,
} from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { deployDollarPools } from "./dollar-pools.ts";
import { deployLayerZero, type LayerZeroAddresses } from "./layerzero.ts";
import { deployLocalToken, fundLocalToken } from "./local-token.ts";

const account = (addressIndex: number) =>
  mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex });
const [deployer, alice, bob] = [account(0), account(1), account(2)] as const;
const DOLLAR = 10n ** 18n;
const EIDS = [31337, 31338] as const;
const endpointAbi = parseAbi([
  "event PacketSent(bytes encodedPayload, bytes options, address sendLibrary)",
  "function eid() view returns (uint32)",
  "function getConfig(address oapp, address lib, uint32 eid, uint32 configType) view returns (bytes)",
]);
const receiveAbi = parseAbi([
  "function commitVerification(bytes packetHeader, bytes32 payloadHash)",
  "error LZ_ULN_Verifying()",
]);

interface Side {
  anvil: Anvil;
  layerZero: LayerZeroAddresses;
  dollar: Address;
  pool: Address;
}
let here: Side;
let there: Side;

before(async () => {
  const sides = await Promise.all(
    EIDS.map(async (eid) => {
      const anvil = await startAnvil(eid);
      const { rpcUrl } = anvil;
      const remoteEids = EIDS.filter((other) => other !== eid);
      const verifierKeys = [account(3).address, account(4).address] as const;
      const options = { rpcUrl, deployer, eid, remoteEids, verifierKeys, confirmations: 2n };
      const layerZero = await deployLayerZero(options);
      return {
        anvil,
        layerZero,
        dollar: await deployLocalToken({ rpcUrl, issuer: deployer, name: "Local Dollar", symbol: "USDL" }),
      };
    }),
  );
  const sites = sides.map(({ anvil: { rpcUrl }, layerZero: { endpoint }, dollar }, index) => {
    return { rpcUrl, eid: EIDS[index] ?? 0, endpoint, dollar };
  });
  const pools = await deployDollarPools(deployer, sites);
  const [first, second] = sides.map((side, index) => ({ ...side, pool: pools[index] ?? "0x" }));
  ok(first !== undefined && second !== undefined);
  [here, there] = [first, second];
});
after(() => Promise.all([here, there].map((side) => side.anvil[Symbol.asyncDispose]())));

test("a path without its own configuration requires both verifiers, for sending and receiving", async () => {
  for (const [side, remote] of [
    [here, EIDS[1]],
    [there, EIDS[0]],
  ] as const) {
    const { endpoint, sendLibrary, receiveLibrary, verifiers } = side.layerZero;
    for (const library of [sendLibrary, receiveLibrary]) {
      const config = await reader(side).readContract({
        address: endpoint,
        abi: endpointAbi,
        functionName: "getConfig",
        args: [side.pool, library, remote, 2],
      });
      const [uln] = decodeAbiParameters(ulnConfig, config);
      deepEqual(uln, {
        confirmations: 2n,
        requiredDVNCount: 2,
        optionalDVNCount: 0,
        optionalDVNThreshold: 0,
        requiredDVNs: ascending(verifiers),
        optionalDVNs: [],
      });
    }
  }
});

test("a message costs its quote, names its path, and cannot be committed before it is verified", async () => {
  const { rpcUrl } = here.anvil;
  await fundLocalToken({ rpcUrl, token: here.dollar, issuer: deployer, to: alice.address, amount: DOLLAR });
  const writer = createWalletClient({ account: alice, chain: { ...foundry, id: EIDS[0] }, transport: http(rpcUrl) });
  const pool = { address: here.pool, abi: dollarPool.abi } as const;
  const approval = { address: here.dollar, abi: localToken.abi, functionName: "approve" } as const;
  await receiptOf(reader(here), await writer.writeContract({ ...approval, args: [here.pool, DOLLAR] }));
  const message = {
    dstEid: EIDS[1],
    to: pad(bob.address),
    amountLD: DOLLAR,
    minAmountLD: DOLLAR,
    extraOptions: "0x",
    composeMsg: "0x",
    oftCmd: "0x",
  } as const;
  const quoted = await reader(here).readContract({ ...pool, functionName: "quoteSend", args: [message, false] });
  ok(quoted.nativeFee > 0n);
  const send = (value: bigint) =>
    reader(here).simulateContract({
      ...pool,
      account: alice,
      functionName: "send",
      args: [message, quoted, alice.address],
      value,
    });
  await rejects(send(quoted.nativeFee - 1n));
  const hash = await writer.writeContract((await send(quoted.nativeFee)).request);
  const { logs } = await receiptOf(reader(here), hash);
  const [sent] = parseEventLogs({ abi: endpointAbi, eventName: "PacketSent", logs });
  ok(sent !== undefined);
  const packet = sent.args.encodedPayload;
  equal(slice(packet, 9, 13), toHex(EIDS[0], { size: 4 }));
  equal(slice(packet, 49, 81), pad(there.pool).toLowerCase());
  const commit = reader(there).simulateContract({
    address: there.layerZero.receiveLibrary,
    abi: receiveAbi,
    functionName: "commitVerification",
    args: [slice(packet, 0, 81), keccak256(slice(packet, 81))],
  });
  await rejects(commit, /LZ_ULN_Verifying/);
});

function reader({ anvil }: Side) {
  return createPublicClient({ transport: http(anvil.rpcUrl), pollingInterval: 5, cacheTime: 0 });
}

const ulnConfig = [
  {
    type: "tuple",
    components: [
      { name: "confirmations", type: "uint64" },
      { name: "requiredDVNCount", type: "uint8" },
      { name: "optionalDVNCount", type: "uint8" },
      { name: "optionalDVNThreshold", type: "uint8" },
      { name: "requiredDVNs", type: "address[]" },
      { name: "optionalDVNs", type: "address[]" },
    ],
  },
] as const;
