import { deepEqual, rejects } from "node:assert/strict";
import { after, before, test } from "node:test";
import { ascending } from "@inference/contracts/layerzero-options";
import { decodeAbiParameters, parseAbi } from "viem";
import { receiveLibraryAbi } from "../relayer/abi.ts";
import { CONFIRMATIONS, DOLLAR, type Network, startNetwork } from "../relayer/testing/network.ts";

const endpointAbi = parseAbi([
  "function getConfig(address oapp, address lib, uint32 eid, uint32 configType) view returns (bytes)",
]);
let network: Network;

before(async () => {
  network = await startNetwork();
});
after(() => network[Symbol.asyncDispose]());

test("a path without its own configuration requires both verifiers, for sending and receiving", async () => {
  const { here, there } = network;
  for (const [side, remote] of [
    [here, there.eid],
    [there, here.eid],
  ] as const) {
    const { endpoint, sendLibrary, receiveLibrary, verifiers } = side.layerZero;
    for (const library of [sendLibrary, receiveLibrary]) {
      const config = await side.client.readContract({
        address: endpoint,
        abi: endpointAbi,
        functionName: "getConfig",
        args: [side.pool, library, remote, 2],
      });
      const [uln] = decodeAbiParameters(ulnConfig, config);
      deepEqual(uln, {
        confirmations: BigInt(CONFIRMATIONS),
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
  const { here, there } = network;
  await rejects(network.send(DOLLAR, { lessWei: 1n }));
  const { srcEid, receiver, header, payloadHash } = await network.send(DOLLAR);
  deepEqual([srcEid, receiver.toLowerCase()], [here.eid, there.pool.toLowerCase()]);
  const commit = there.client.simulateContract({
    address: there.layerZero.receiveLibrary,
    abi: receiveLibraryAbi,
    functionName: "commitVerification",
    args: [header, payloadHash],
  });
  await rejects(commit, /LZ_ULN_Verifying/);
});

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
