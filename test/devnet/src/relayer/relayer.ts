import { setTimeout as sleep } from "node:timers/promises";
import { receiptOf } from "@inference/contracts/receipt";
import {
  type Abi,
  type Account,
  type Address,
  createPublicClient,
  createWalletClient,
  defineChain,
  encodeFunctionData,
  encodePacked,
  type Hex,
  http,
  isAddressEqual,
  keccak256,
  size,
  zeroHash,
} from "viem";
import type { LocalAccount } from "viem/accounts";
import { endpointAbi, receiveLibraryAbi, verifierAbi } from "./abi.ts";
import { decodeExecution, decodePacket, type Packet } from "./packet.ts";

export type RelayedChain = {
  eid: number;
  chainId: number;
  rpcUrl: string;
  endpoint: Address;
  sendLibrary: Address;
  receiveLibrary: Address;
  verifiers: readonly Address[];
  /** The first block with messages, or one before it. */
  startBlock: number;
};

export type RelayerOptions = {
  chains: readonly RelayedChain[];
  /** The verifiers in the order of their contracts. */
  accounts: { verifiers: readonly LocalAccount[]; executor: LocalAccount };
  /** Blocks on top of a message's block before the message is relayed. */
  confirmations: number;
  pollMs: number;
  /** The longest pause before a failed delivery is repeated. */
  maxPauseMs: number;
  log(entry: Readonly<Record<string, unknown>>): void;
};

export type Relayer = { stop(): Promise<void> };

const MAX_BLOCKS = 2_000;
const RPC_MS = 10_000;
const RECEIPT_POLL_MS = 20;
/** A signed instruction of a verifier expires after this time. */
const VALID_SECONDS = 3_600n;
/** A transaction's own gas, besides the gas that the message's sender paid for. */
const BASE_GAS = 21_000n;
const GAS_PER_BYTE = 40n;
const MAX_GAS = 5_000_000n;

type Chain = RelayedChain & ReturnType<typeof connect>;
type Message = { packet: Packet; options: Hex; attempts: number; dueAt: number };

/**
 * Carries LayerZero messages between local chains: both verifiers attest a message, the executor commits and delivers
 * it. It keeps no file. After a start it reads all messages again, and the chains say which of them are delivered.
 */
export function startRelayer(options: RelayerOptions): Relayer {
  const { accounts, confirmations, pollMs, maxPauseMs, log } = options;
  const chains = new Map(options.chains.map((chain) => [chain.eid, { ...chain, ...connect(chain) }]));
  const nextBlocks = new Map(options.chains.map(({ eid, startBlock }) => [eid, startBlock]));
  const waiting = new Set<Message>();
  const abort = new AbortController();

  /** Adds the messages of new blocks with enough confirmations. */
  async function read(chain: Chain): Promise<void> {
    const last = Number(await chain.reader.getBlockNumber()) - confirmations;
    for (let from = nextBlocks.get(chain.eid) ?? 0; from <= last; from += MAX_BLOCKS) {
      const to = Math.min(last, from + MAX_BLOCKS - 1);
      const logs = await chain.reader.getContractEvents({
        ...{ address: chain.endpoint, abi: endpointAbi, eventName: "PacketSent", strict: true },
        ...{ fromBlock: BigInt(from), toBlock: BigInt(to) },
      });
      for (const { args } of logs) {
        if (!isAddressEqual(args.sendLibrary, chain.sendLibrary)) continue;
        const packet = decodePacket(args.encodedPayload);
        if (chains.has(packet.dstEid)) waiting.add({ packet, options: args.options, attempts: 0, dueAt: 0 });
      }
      nextBlocks.set(chain.eid, to + 1);
    }
  }

  async function attempt(message: Message): Promise<void> {
    const { packet } = message;
    const { guid, srcEid, dstEid } = packet;
    try {
      await relay(chains.get(dstEid) as Chain, message, { ...accounts, confirmations });
      waiting.delete(message);
      log({ event: "ended", guid, srcEid, dstEid });
    } catch (error) {
      message.dueAt = performance.now() + Math.min(maxPauseMs, pollMs * 2 ** Math.min(message.attempts, 20));
      message.attempts += 1;
      log({ event: "failed", guid, srcEid, dstEid, attempts: message.attempts, reason: String(error) });
    }
  }

  async function run(): Promise<void> {
    while (!abort.signal.aborted) {
      for (const chain of chains.values()) {
        await read(chain).catch((error) => log({ event: "unreadable", eid: chain.eid, reason: String(error) }));
      }
      for (const message of waiting) {
        if (!abort.signal.aborted && message.dueAt <= performance.now()) await attempt(message);
      }
      await sleep(pollMs, undefined, { signal: abort.signal }).catch(() => {});
    }
  }
  const running = run();
  return {
    async stop() {
      abort.abort();
      await running;
    },
  };
}

function connect({ chainId: id, rpcUrl }: RelayedChain) {
  const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
  const chain = defineChain({ id, name: `chain ${id}`, nativeCurrency, rpcUrls: { default: { http: [rpcUrl] } } });
  const transport = http(rpcUrl, { retryCount: 0, timeout: RPC_MS });
  const reader = createPublicClient({ chain, transport, pollingInterval: RECEIPT_POLL_MS, cacheTime: 0 });
  return { reader, writerOf: (account: Account) => createWalletClient({ account, chain, transport }) };
}

type Workers = RelayerOptions["accounts"] & { confirmations: number };

/** Brings a message to the end of its way. Each step begins where the destination's contracts stand. */
async function relay(destination: Chain, { packet, options }: Message, workers: Workers): Promise<void> {
  const state = await stateOf(destination, packet);
  if (state === "delivered") return;
  if (state === "absent") {
    const { verifiers } = workers;
    await Promise.all(verifiers.map((_, index) => attest(destination, { packet, workers, index })));
    const args = [packet.header, packet.payloadHash] as const;
    const address = destination.receiveLibrary;
    const commit = { address, abi: receiveLibraryAbi, functionName: "commitVerification", args } as const;
    await send(destination, workers.executor, commit);
  }
  await deliver(destination, { packet, options, executor: workers.executor });
}

async function stateOf({ reader, endpoint }: Chain, packet: Packet): Promise<"absent" | "committed" | "delivered"> {
  const contract = { address: endpoint, abi: endpointAbi } as const;
  const { receiver, srcEid, sender, nonce } = packet;
  const path = [receiver, srcEid, sender] as const;
  const args = [...path, nonce] as const;
  const hash = await reader.readContract({ ...contract, functionName: "inboundPayloadHash", args });
  if (hash === packet.payloadHash) return "committed";
  if (hash !== zeroHash) throw new Error("Another message was committed in its place.");
  const lazyNonce = await reader.readContract({ ...contract, functionName: "lazyInboundNonce", args: path });
  // A delivery clears the hash, and moves the nonce to its own at least.
  return nonce <= lazyNonce ? "delivered" : "absent";
}

/** Attests a message through the verifier's contract, unless it is attested. */
async function attest(
  destination: Chain,
  { packet, workers, index }: { packet: Packet; workers: Workers; index: number },
): Promise<void> {
  const { reader, receiveLibrary: target } = destination;
  const [address, account] = [destination.verifiers[index], workers.verifiers[index]];
  if (address === undefined || account === undefined) throw new Error(`verifier ${index + 1} has no contract or key`);
  const lookup = [keccak256(packet.header), packet.payloadHash, address] as const;
  const library = { address: target, abi: receiveLibraryAbi } as const;
  const [isSubmitted] = await reader.readContract({ ...library, functionName: "hashLookup", args: lookup });
  if (isSubmitted) return;
  const contract = { address, abi: verifierAbi } as const;
  const vid = await reader.readContract({ ...contract, functionName: "vid" });
  const expiration = (await reader.getBlock()).timestamp + VALID_SECONDS;
  const args = [packet.header, packet.payloadHash, BigInt(workers.confirmations)] as const;
  const callData = encodeFunctionData({ abi: receiveLibraryAbi, functionName: "verify", args });
  const packed = encodePacked(["uint32", "address", "uint256", "bytes"], [vid, target, expiration, callData]);
  const signatures = await account.signMessage({ message: { raw: keccak256(packed) } });
  const instructions = [{ vid, target, callData, expiration, signatures }];
  await send(destination, account, { ...contract, functionName: "execute", args: [instructions] });
}

/** Delivers with the gas and the coins that the sender paid for. A delivery that would revert is not sent. */
async function deliver(
  destination: Chain,
  { packet, options, executor }: { packet: Packet; options: Hex; executor: LocalAccount },
): Promise<void> {
  const { srcEid, sender, nonce, receiver, guid, message } = packet;
  const paid = decodeExecution(options);
  const gas = BASE_GAS + GAS_PER_BYTE * BigInt(size(packet.encoded)) + paid.gas;
  await send(destination, executor, {
    ...{ address: destination.endpoint, abi: endpointAbi, functionName: "lzReceive" },
    args: [{ srcEid, sender, nonce }, receiver, guid, message, "0x"],
    value: paid.valueWei,
    gas: gas > MAX_GAS ? MAX_GAS : gas,
  });
}

type Call = {
  address: Address;
  abi: Abi;
  functionName: string;
  args: readonly unknown[];
  value?: bigint;
  gas?: bigint;
};

/** Sends a call that would succeed, and waits for its receipt. */
async function send({ reader, writerOf }: Chain, account: LocalAccount, call: Call): Promise<void> {
  const { address: to, value, gas } = call;
  const transaction = { to, data: encodeFunctionData(call), value, gas };
  await reader.call({ ...transaction, account });
  const { status } = await receiptOf(reader, await writerOf(account).sendTransaction(transaction));
  if (status !== "success") throw new Error(`${call.functionName} reverted.`);
}
