import { type Address, type Hex, numberToHex, pad, parseAbi, parseEventLogs, toEventHash } from "viem";
import type { RelayChain } from "./relay-chain.ts";

/** The payment whose events are searched. `nonce`: a top-up's is its id. */
export type Wanted = { stablecoin: Address; contract: Address; owner: string; nonce: Hex };

type Place = { transaction: Hex; block: bigint; logIndex: number };
export type Event = Place &
  (
    | { name: "ToppedUp" | "Credited" | "AuthorizationUsed" | "AuthorizationCanceled" }
    | { name: "Transfer"; to: Address; value: bigint }
  );

/** Maximum blocks of one request for events, and maximum requests: a day of blocks of two seconds. */
const MAX_BLOCKS = 2_000;
const MAX_REQUESTS = 25;

const EVENTS = parseAbi([
  "event ToppedUp(bytes32 indexed id, address indexed owner, address indexed account, uint256 amount, uint256 fee, address feeTo)",
  "event Credited(address indexed from, bytes32 indexed nonce, uint256 amount)",
  "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)",
  "event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)",
  "event Transfer(address indexed from, address indexed to, uint256 value)",
]);
const SELECTORS = EVENTS.map(toEventHash);

/**
 * The events of one payment from a block on, up to the head, with the owner's transfers beside them. One request of the
 * node answers for all of them, so that it cannot show one event of a transaction without the other.
 */
export async function findEvents(
  { reader }: RelayChain,
  { stablecoin, contract, owner, nonce }: Wanted,
  { from, head }: { from: number; head: bigint },
): Promise<Event[]> {
  const payer = pad(owner.toLowerCase() as Address);
  const topics = [SELECTORS, [nonce, payer], [payer, nonce, pad(contract.toLowerCase() as Address)]];
  let next = BigInt(from);
  for (let count = 0; count < MAX_REQUESTS && next <= head; count += 1) {
    const last = next + BigInt(MAX_BLOCKS) - 1n;
    const logs = await reader.request({
      method: "eth_getLogs",
      params: [
        {
          ...{ address: [stablecoin, contract], topics },
          ...{ fromBlock: numberToHex(next), toBlock: numberToHex(last < head ? last : head) },
        },
      ],
    });
    const events = parseEventLogs({ abi: EVENTS, logs }).flatMap((log): Event[] => {
      const place = {
        transaction: log.transactionHash,
        block: BigInt(log.blockNumber),
        logIndex: Number(log.logIndex),
      };
      if (log.eventName === "Transfer")
        return [{ ...place, name: log.eventName, to: log.args.to, value: log.args.value }];
      const key = log.eventName === "ToppedUp" ? log.args.id : log.args.nonce;
      return key.toLowerCase() === nonce ? [{ ...place, name: log.eventName }] : [];
    });
    if (events.some(({ name }) => name !== "Transfer")) return events;
    next = last + 1n;
  }
  return [];
}
