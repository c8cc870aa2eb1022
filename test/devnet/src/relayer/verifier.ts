import { type Address, encodeFunctionData, encodePacked, type Hex, keccak256 } from "viem";
import type { LocalAccount } from "viem/accounts";
import { receiveLibraryAbi, verifierAbi } from "./abi.ts";
import { type Chain, mined } from "./chain.ts";
import { isCommitted } from "./inbound.ts";
import type { Packet } from "./packet.ts";
import type { Work } from "./worker.ts";

/** How long a signed instruction may be submitted: longer than any retry, shorter than for ever. */
const VALID_SECONDS = 3_600n;

/**
 * Attests what this verifier's own node told it, through its contract at the destination. It never asks another worker
 * whether a message is real.
 */
export function createVerifier(options: {
  account: LocalAccount;
  contractOn(eid: number): Address;
  confirmationsOf(eid: number): number;
}): Work {
  const { account, contractOn, confirmationsOf } = options;
  return async ({ packet }, destination) => {
    const verifier = contractOn(packet.dstEid);
    const confirmations = BigInt(confirmationsOf(packet.srcEid));
    const isEnded = async (): Promise<boolean> =>
      (await isAttested(destination, { packet, verifier, confirmations })) || (await isCommitted(destination, packet));
    if (await isEnded()) return "ended";
    await attest(destination, { packet, verifier, confirmations, account });
    // The contract swallows what goes wrong inside.
    if (await isEnded()) return "ended";
    throw new Error(`${verifier} did not attest it.`);
  };
}

type Attestation = { packet: Packet; verifier: Address; confirmations: bigint };

async function isAttested(destination: Chain, { packet, verifier, confirmations }: Attestation): Promise<boolean> {
  const [submitted, counted] = await destination.reader.readContract({
    address: destination.settings.receiveLibrary,
    abi: receiveLibraryAbi,
    functionName: "hashLookup",
    args: [keccak256(packet.header), packet.payloadHash, verifier],
  });
  return submitted && counted >= confirmations;
}

async function attest(
  destination: Chain,
  { packet, verifier, confirmations, account }: Attestation & { account: LocalAccount },
): Promise<void> {
  const { reader, writer, settings } = destination;
  const contract = { address: verifier, abi: verifierAbi } as const;
  const vid = await reader.readContract({ ...contract, functionName: "vid" });
  const { timestamp } = await reader.getBlock();
  const expiration = timestamp + VALID_SECONDS;
  const target = settings.receiveLibrary;
  const callData = encodeFunctionData({
    abi: receiveLibraryAbi,
    functionName: "verify",
    args: [packet.header, packet.payloadHash, confirmations],
  });
  const signatures = await sign(account, { vid, target, expiration, callData });
  const hash = await writer.writeContract({
    ...contract,
    functionName: "execute",
    args: [[{ vid, target, callData, expiration, signatures }]],
  });
  await mined(destination, hash);
}

function sign(
  account: LocalAccount,
  { vid, target, expiration, callData }: { vid: number; target: Address; expiration: bigint; callData: Hex },
): Promise<Hex> {
  const packed = encodePacked(["uint32", "address", "uint256", "bytes"], [vid, target, expiration, callData]);
  return account.signMessage({ message: { raw: keccak256(packed) } });
}
