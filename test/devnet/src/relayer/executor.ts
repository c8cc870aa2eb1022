import { revertOf } from "@inference/keeper/revert";
import { type Hex, size } from "viem";
import { endpointAbi, receiveLibraryAbi } from "./abi.ts";
import { type Chain, mined } from "./chain.ts";
import { inboundState } from "./inbound.ts";
import { decodeExecution, type Packet } from "./packet.ts";
import type { Work } from "./worker.ts";

/** A transaction's own price, above the gas that a message has paid for. */
const BASE_GAS = 21_000n;
const GAS_PER_BYTE = 40n;
/** No message is given more, whatever it has paid. */
const MAX_GAS = 5_000_000n;

/** Commits what both verifiers have attested and delivers it, with the gas that its sender paid for. */
export function createExecutor(): Work {
  return async ({ packet, options }, destination) => {
    let state = await inboundState(destination, packet);
    if (state === "absent") {
      if (!(await commit(destination, packet))) return "waiting";
      state = await inboundState(destination, packet);
    }
    if (state === "committed") {
      await deliver(destination, packet, options);
      state = await inboundState(destination, packet);
    }
    if (state === "delivered") return "ended";
    throw new Error(`It is ${state} at its destination.`);
  };
}

/** Whether it could be: not before both verifiers have attested it. */
async function commit(destination: Chain, packet: Packet): Promise<boolean> {
  const { reader, writer, settings } = destination;
  const call = {
    address: settings.receiveLibrary,
    abi: receiveLibraryAbi,
    functionName: "commitVerification",
    args: [packet.header, packet.payloadHash],
  } as const;
  try {
    await reader.simulateContract({ ...call, account: writer.account });
  } catch (error) {
    if (revertOf(error) === "LZ_ULN_Verifying") return false;
    throw error;
  }
  await mined(destination, await writer.writeContract(call));
  return true;
}

async function deliver(destination: Chain, packet: Packet, options: Hex): Promise<void> {
  const { reader, writer, settings } = destination;
  const { srcEid, sender, nonce, receiver, guid, message } = packet;
  const paid = decodeExecution(options);
  const gas = BASE_GAS + GAS_PER_BYTE * BigInt(size(packet.encoded)) + paid.gas;
  const call = {
    address: settings.endpoint,
    abi: endpointAbi,
    functionName: "lzReceive",
    args: [{ srcEid, sender, nonce }, receiver, guid, message, "0x"],
    value: paid.valueWei,
    gas: gas > MAX_GAS ? MAX_GAS : gas,
  } as const;
  // What would revert is not sent: the receiver may be able to take it later.
  await reader.simulateContract({ ...call, account: writer.account });
  await mined(destination, await writer.writeContract(call));
}
