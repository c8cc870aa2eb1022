import {
  type Address,
  createWalletClient,
  encodeFunctionData,
  type Hash,
  type Hex,
  hashMessage,
  http,
  type LocalAccount,
  parseAbi,
  zeroAddress,
} from "viem";
import type { WalletAccount } from "../connection.ts";

/** The RPC URL of each chain. */
type Nodes = Readonly<Record<number, string>>;

/** A wallet like a browser's: it signs, and sends by itself. The local node has the keys of bare addresses. */
export function nodeWallet(nodes: Nodes, account: Address | LocalAccount): WalletAccount {
  const address = typeof account === "string" ? account : account.address;
  const [first = ""] = Object.values(nodes);
  const signer = createWalletClient({ account, transport: http(first) });
  return {
    type: "wallet",
    address,
    signMessage: ({ message }) => signer.signMessage({ message }),
    signTypedData: (typed) => signer.signTypedData(typed as Parameters<typeof signer.signTypedData>[0]),
    async sendTransaction({ chainId, ...call }): Promise<Hash> {
      return createWalletClient({ account, transport: http(nodes[chainId]) }).sendTransaction({
        ...call,
        chain: null,
      });
    },
  };
}

/** A Safe with one owner: it signs by ERC-1271, and its owner's wallet carries out what it sends. */
export function safeWallet(nodes: Nodes, { safe, owner, chainId }: { safe: Address; owner: Address; chainId: number }) {
  const wallet = nodeWallet(nodes, owner);
  const signer = createWalletClient({ account: owner, transport: http(nodes[chainId]) });
  const account: WalletAccount = {
    type: "wallet",
    address: safe,
    signMessage: ({ message }) =>
      signer.signTypedData({
        domain: { chainId, verifyingContract: safe },
        types: { SafeMessage: [{ name: "message", type: "bytes" }] },
        primaryType: "SafeMessage",
        message: { message: hashMessage(message) },
      }),
    signTypedData: () => Promise.reject(new Error("This Safe signs no typed data here.")),
    sendTransaction: ({ chainId, to, data, value }) =>
      wallet.sendTransaction({ chainId, to: safe, data: execution({ to, data, value, owner }), value: 0n }),
  };
  return account;
}

/** The owner sends it, so its approval needs no signature. */
function execution({ to, data, value, owner }: { to: Address; data: Hex; value: bigint; owner: Address }): Hex {
  const approved: Hex = `0x${owner.slice(2).padStart(64, "0")}${"00".repeat(32)}01`;
  const args = [to, value, data, 0, 0n, 0n, 0n, zeroAddress, zeroAddress, approved] as const;
  return encodeFunctionData({ abi: safeAbi, functionName: "execTransaction", args });
}

const safeAbi = parseAbi([
  "function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) payable returns (bool)",
]);
