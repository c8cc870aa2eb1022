import { type Address, getAddress, type Hex, hexToBigInt, hexToNumber, keccak256, size, slice } from "viem";

/** A LayerZero message. */
export type Packet = {
  /** The whole packet. */
  encoded: Hex;
  /** Version, nonce and path, as verifiers and `commitVerification` take them. */
  header: Hex;
  /** keccak256 of guid and message, which verifiers attest. */
  payloadHash: Hex;
  nonce: bigint;
  srcEid: number;
  /** 32 bytes. */
  sender: Hex;
  dstEid: number;
  receiver: Address;
  guid: Hex;
  message: Hex;
};

/** The offsets of PacketV1's parts. */
const AT = { nonce: 1, srcEid: 9, sender: 13, dstEid: 45, receiver: 49, guid: 81, message: 113 } as const;
const VERSION = 1;
const ADDRESS_BYTES = 20;

/** Throws {@link PacketError} if it is not a PacketV1 for an EVM chain. */
export function decodePacket(encoded: Hex): Packet {
  if (size(encoded) < AT.message) throw new PacketError(`a packet of ${size(encoded)} bytes`);
  const version = hexToNumber(slice(encoded, 0, AT.nonce));
  if (version !== VERSION) throw new PacketError(`a packet of version ${version}`);
  return {
    encoded,
    header: slice(encoded, 0, AT.guid),
    payloadHash: keccak256(slice(encoded, AT.guid)),
    nonce: hexToBigInt(slice(encoded, AT.nonce, AT.srcEid)),
    srcEid: hexToNumber(slice(encoded, AT.srcEid, AT.sender)),
    sender: slice(encoded, AT.sender, AT.dstEid),
    dstEid: hexToNumber(slice(encoded, AT.dstEid, AT.receiver)),
    receiver: getAddress(slice(encoded, AT.guid - ADDRESS_BYTES, AT.guid)),
    guid: slice(encoded, AT.guid, AT.message),
    message: size(encoded) === AT.message ? "0x" : slice(encoded, AT.message),
  };
}

/** The sums of a message's `lzReceive` options, which its sender has paid for. */
export type Execution = { gas: bigint; valueWei: bigint };

const TYPE_3 = 3;
const EXECUTOR = 1;
const LZ_RECEIVE = 1;

/** Reads type-3 options, the only type of the current library. Throws {@link PacketError}. */
export function decodeExecution(options: Hex): Execution {
  if (size(options) < 2 || hexToNumber(slice(options, 0, 2)) !== TYPE_3)
    throw new PacketError("options of another type");
  const paid = { gas: 0n, valueWei: 0n };
  for (let at = 2; at < size(options); ) {
    if (at + 4 > size(options)) throw new PacketError("options that end early");
    const worker = hexToNumber(slice(options, at, at + 1));
    const length = hexToNumber(slice(options, at + 1, at + 3));
    const end = at + 3 + length;
    if (length === 0 || end > size(options)) throw new PacketError("options that end early");
    const type = hexToNumber(slice(options, at + 3, at + 4));
    if (worker === EXECUTOR && type === LZ_RECEIVE) {
      if (length !== 17 && length !== 33) throw new PacketError("an lzReceive option of another length");
      paid.gas += hexToBigInt(slice(options, at + 4, at + 20));
      if (length === 33) paid.valueWei += hexToBigInt(slice(options, at + 20, at + 36));
    }
    at = end;
  }
  return paid;
}

export class PacketError extends Error {
  override readonly name = "PacketError";
}
