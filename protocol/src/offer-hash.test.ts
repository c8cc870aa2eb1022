import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeAbiParameters, keccak256, stringToHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { recoverTypedDataAddress } from "viem/utils";
import { MAX_OFFER_DAY, MAX_SHARE_BPS, type Offer, offerTypedData } from "./offer.ts";
import { offerHash } from "./offer-hash.ts";

const settlement = { chainId: 31337, address: "0x00000000000000000000000000000000000005e7" } as const;
const offer: Offer = { agentToken: `0x${"a9".repeat(20)}`, day: 20_000, shareBps: 5_000, nonce: 7 };

test("the hash is EIP-712's, written out", () => {
  const hashText = (text: string) => keccak256(stringToHex(text));
  const struct = keccak256(
    encodeAbiParameters(
      [{ type: "bytes32" }, { type: "address" }, { type: "uint32" }, { type: "uint16" }, { type: "uint64" }],
      [
        hashText("Offer(address agentToken,uint32 day,uint16 shareBps,uint64 nonce)"),
        offer.agentToken,
        20_000,
        5_000,
        7n,
      ],
    ),
  );
  const domainType = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
  const domain = keccak256(
    encodeAbiParameters(
      [{ type: "bytes32" }, { type: "bytes32" }, { type: "bytes32" }, { type: "uint256" }, { type: "address" }],
      [hashText(domainType), hashText("InferenceGateway"), hashText("1"), 31337n, settlement.address],
    ),
  );
  assert.equal(offerHash(settlement, offer), keccak256(`0x1901${domain.slice(2)}${struct.slice(2)}`));
});

test("a signature is of one offer to one deployment", async () => {
  const computer = privateKeyToAccount(`0x${"c0".repeat(32)}`);
  const signature = await computer.signTypedData(offerTypedData(settlement, offer));
  const signerOf = (deployment: typeof settlement | { chainId: number; address: `0x${string}` }, other: Offer) =>
    recoverTypedDataAddress({ ...offerTypedData(deployment, other), signature });
  assert.equal(await signerOf(settlement, offer), computer.address);
  const others: Partial<Offer>[] = [{ agentToken: computer.address }, { day: 0 }, { shareBps: 0 }, { nonce: 8 }];
  for (const other of others) assert.notEqual(await signerOf(settlement, { ...offer, ...other }), computer.address);
  assert.notEqual(await signerOf({ ...settlement, chainId: 1 }, offer), computer.address);
  assert.notEqual(await signerOf({ ...settlement, address: computer.address }, offer), computer.address);
});

test("the greatest values have a hash, and greater ones have none", () => {
  const most = { ...offer, day: MAX_OFFER_DAY, shareBps: MAX_SHARE_BPS, nonce: Number.MAX_SAFE_INTEGER };
  assert.match(offerHash(settlement, most), /^0x[0-9a-f]{64}$/);
  assert.throws(() => offerHash(settlement, { ...most, day: MAX_OFFER_DAY + 1 }));
});
