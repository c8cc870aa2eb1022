import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import {
  type Abi,
  type AbiEvent,
  type ContractEventName,
  decodeEventLog,
  encodeAbiParameters,
  encodeEventTopics,
  type GetContractEventsReturnType,
  toEventSelector,
} from "viem";
import { type Hex, parseHash, parseHex, parseObject, parseQuantity, quantity } from "./chain-view.ts";
import { type ChainClient, ChainContradiction } from "./rpc.ts";

/** Events of one kind from one contract. */
export type EventSource<T> = {
  address: Address;
  selector: Hex;
  /** Throws unless the log is encoded exactly as the contract encodes it. */
  decode(log: { topics: readonly Hex[]; data: Hex }): T;
};

export type ChainEvent<T> = { args: T; block: number; transaction: Hex };

export type EventArgs<A extends Abi, N extends ContractEventName<A>> = GetContractEventsReturnType<
  A,
  N,
  true
>[number]["args"];

/** The event must not have an indexed parameter of dynamic size, because a log has only the hash of its value. */
export function eventSource<const A extends Abi, const N extends ContractEventName<A>>(
  address: Address,
  abi: A,
  eventName: N,
): EventSource<EventArgs<A, N>> {
  const event = abi.find((item): item is AbiEvent => item.type === "event" && item.name === eventName);
  if (event === undefined) throw new TypeError(`the ABI has no event ${eventName}`);
  const unindexed = event.inputs.filter(({ indexed }) => indexed !== true);
  return {
    address: address.toLowerCase() as Address,
    selector: toEventSelector(event),
    decode({ topics, data }) {
      const decoded = decodeEventLog({ abi: [event], topics: topics as [Hex, ...Hex[]], data });
      const args = decoded.args as unknown as Record<string, unknown>;
      // The decoder ignores extra bytes and unused bits.
      const again = [
        ...encodeEventTopics({ abi: [event], eventName: event.name, args }),
        encodeAbiParameters(
          unindexed,
          unindexed.map(({ name = "" }) => args[name]),
        ),
      ];
      if (again.join() !== [...topics, data].join()) throw new TypeError(`not an encoded ${event.name}`);
      return args as EventArgs<A, N>;
    },
  };
}

/** The same events, each as what `map` makes of it. */
export function mapped<A, T>(source: EventSource<A>, map: (args: A) => T): EventSource<T> {
  return { ...source, decode: (log) => map(source.decode(log)) };
}

/**
 * Reads all events of these sources in these blocks, in chain order.
 *
 * @throws RpcError if the node refuses the range; ChainContradiction if it returns an event that was not requested.
 */
export async function readEvents<T>(
  client: ChainClient,
  sources: readonly EventSource<T>[],
  range: { from: number; to: number },
): Promise<ChainEvent<T>[]> {
  const filter = {
    address: distinct(sources.map(({ address }) => address)),
    topics: [distinct(sources.map(({ selector }) => selector))],
    fromBlock: quantity(range.from),
    toBlock: quantity(range.to),
  };
  const answer = await client.request("eth_getLogs", [filter]);
  if (!Array.isArray(answer)) throw new ChainUnavailable("the node answers with events that are no list");
  return answer.flatMap((log) => parseEvent(parseObject(log), sources, range));
}

function parseEvent<T>(
  log: Record<string, unknown>,
  sources: readonly EventSource<T>[],
  { from, to }: { from: number; to: number },
): ChainEvent<T>[] {
  const block = parseQuantity(log.blockNumber);
  const address = parseHex(log.address);
  const data = parseHex(log.data);
  const topics = Array.isArray(log.topics) ? log.topics.map(parseHash) : [];
  const ofAddress = sources.filter((source) => source.address === address);
  const isAsked =
    ofAddress.length > 0 &&
    sources.some(({ selector }) => selector === topics[0]) &&
    log.removed !== true &&
    block >= from &&
    block <= to;
  const notAsked = `the node answers with an event of block ${block} that was not asked for`;
  if (!isAsked) throw new ChainContradiction(notAsked);
  // One filter covers every event of every contract, so pairs without a source are skipped.
  const source = ofAddress.find(({ selector }) => selector === topics[0]);
  if (source === undefined) return [];
  try {
    return [{ args: source.decode({ topics, data }), block, transaction: parseHash(log.transactionHash) }];
  } catch (error) {
    if (error instanceof ChainUnavailable) throw error;
    throw new ChainContradiction(notAsked, { cause: error });
  }
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
