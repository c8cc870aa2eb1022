import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { tokenBackingOutboxAbi } from "@inference/protocol/abi/token-backing-outbox";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import type { Address } from "@inference/protocol/credential";
import type { FollowedChain, SecondaryBooks } from "@inference/protocol/dollars";
import { pad, parseAbi } from "viem";
import { isOpen, isUnsent, type MessageRecord } from "./bridge-messages.ts";
import { type Block, type Hex, readView } from "./chain-view.ts";
import type { ChainClient } from "./rpc.ts";

type Chain = FollowedChain & { client: ChainClient };

/** The books of a secondary chain in a block of it and a block of the primary chain. */
export async function readSecondaryBooks(
  { primary, secondary }: { primary: Chain; secondary: Chain },
  blocks: { primary: Block; secondary: Block },
  known: { records: readonly MessageRecord[]; bookedToken: bigint },
): Promise<SecondaryBooks> {
  const { client, outbox } = secondary;
  const inOutbox = <N extends "pending" | "pendingSince" | "nextFlushAt" | "flushed">(functionName: N) =>
    readView<bigint>(client, { to: outbox, abi: tokenBackingOutboxAbi, functionName }, blocks.secondary);
  const supply = { to: secondary.token, abi: inferenceTokenAbi, functionName: "totalSupply" };
  const line = { to: primary.minter, abi: tokenMinterAbi, functionName: "lineOf", args: [secondary.eid] };
  const [supplyToken, outboxToken, pendingSince, nextFlush, flushedToken, [lineToken, giftedToken]] = await Promise.all(
    [
      readView<bigint>(client, supply, blocks.secondary),
      inOutbox("pending"),
      inOutbox("pendingSince"),
      inOutbox("nextFlushAt"),
      inOutbox("flushed"),
      readView<readonly [bigint, bigint]>(primary.client, line, blocks.primary),
    ],
  );
  const own = known.records.filter(({ sourceEid, destinationEid }) =>
    [sourceEid, destinationEid].includes(secondary.eid),
  );
  const open = own.filter(isOpen);
  const inFlightToken = sumOf(open);
  const { bookedToken } = known;
  const addsUp =
    supplyToken + inFlightToken + giftedToken === lineToken + outboxToken + flushedToken - bookedToken &&
    !own.some(isUnsent);
  const times = open.flatMap(({ sent }) => sent?.at ?? []);
  return {
    chainId: secondary.chainId,
    ...{ block: blocks.secondary.number, at: blocks.secondary.at },
    ...{ supplyToken, lineToken, giftedToken, outboxToken, flushedToken, bookedToken, inFlightToken, addsUp },
    outboxSince: outboxToken === 0n ? null : Number(pendingSince) * 1_000,
    nextFlushAt: Number(nextFlush) * 1_000,
    waitingToken: sumOf(open.filter(({ waiting }) => waiting !== undefined)),
    oldestMessageAt: times.length === 0 ? null : Math.min(...times),
  };
}

/** LayerZero's endpoint keeps the hash of each message that the verifiers have attested, until it is delivered. */
const endpointAbi = parseAbi([
  "function inboundPayloadHash(address receiver, uint32 srcEid, bytes32 sender, uint64 nonce) view returns (bytes32)",
]);

/** Whether all verifiers have attested a message to this chain. */
export async function isVerified({ client, bridge }: Chain, { sourceEid, sent }: MessageRecord): Promise<boolean> {
  if (sent === undefined) return false;
  const to = await readView<Address>(client, { to: bridge, abi: tokenBridgeAbi, functionName: "endpoint" }, "latest");
  // The bridge has one address on every chain.
  const args = [bridge, sourceEid, pad(bridge), BigInt(sent.nonce)];
  const inbound = { to, abi: endpointAbi, functionName: "inboundPayloadHash", args };
  return BigInt(await readView<Hex>(client, inbound, "latest")) !== 0n;
}

function sumOf(records: readonly MessageRecord[]): bigint {
  return records.reduce((sum, { amountToken }) => sum + BigInt(amountToken), 0n);
}
