import { parseAbi } from "viem";

/** The parts of LayerZero V2 that the relayer uses. */

export const endpointAbi = parseAbi([
  "struct Origin { uint32 srcEid; bytes32 sender; uint64 nonce; }",
  "event PacketSent(bytes encodedPayload, bytes options, address sendLibrary)",
  "function inboundPayloadHash(address receiver, uint32 srcEid, bytes32 sender, uint64 nonce) view returns (bytes32)",
  "function lazyInboundNonce(address receiver, uint32 srcEid, bytes32 sender) view returns (uint64)",
  "function lzReceive(Origin origin, address receiver, bytes32 guid, bytes message, bytes extraData) payable",
]);

export const receiveLibraryAbi = parseAbi([
  "function hashLookup(bytes32 headerHash, bytes32 payloadHash, address verifier) view returns (bool submitted, uint64 confirmations)",
  "function verify(bytes packetHeader, bytes32 payloadHash, uint64 confirmations)",
  "function commitVerification(bytes packetHeader, bytes32 payloadHash)",
  "error LZ_ULN_Verifying()",
]);

export const verifierAbi = parseAbi([
  "struct Instruction { uint32 vid; address target; bytes callData; uint256 expiration; bytes signatures; }",
  "function vid() view returns (uint32)",
  "function execute(Instruction[] instructions)",
]);
