import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenBackingOutboxAbi } from "@inference/protocol/abi/token-backing-outbox";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { NANO_USD_PER_TOKEN_UNIT } from "@inference/protocol/money";
import { type ChainClients, chainClients } from "../chain-clients.ts";
import type { Connection } from "../connection.ts";
import { type DirectoryChain, readDirectory } from "../directory.ts";
import { pause } from "../pause.ts";
import { type PrimaryContracts, primaryContracts, secondaryContracts } from "./books-contracts.ts";
import { isCovered } from "./check-books.ts";
import { inRanges } from "./events-in-ranges.ts";
import type { BooksEvidence, ReadSecondary, SecondaryEvidence } from "./evidence.ts";
import { firstBlockOf } from "./first-block.ts";

/**
 * Reads supply and reserves of all chains at their own final blocks. These blocks are not of one moment, so tokens on
 * their way can look uncovered: such a chain is read again, up to five times.
 */
export async function collectBooks(connection: Connection): Promise<BooksEvidence> {
  const { chains } = await readDirectory(connection);
  const clients = await chainClients(connection);
  const primary = { clients, contracts: await primaryContracts(connection, clients) };
  const secondaries: SecondaryEvidence[] = [];
  for (const chain of chains.filter(({ role }) => role === "secondary")) {
    secondaries.push(await collectSecondary(connection, primary, chain));
  }
  // The client may name a chain that the gateway does not.
  for (const chainId of Object.keys(connection.chains).map(Number)) {
    if (chains.some(({ chain_id: id }) => id === chainId)) continue;
    secondaries.push({ chainId, unread: "the gateway does not name it" });
  }
  return { primary: await collectPrimary(primary, chains), secondaries };
}

type Primary = { clients: ChainClients; contracts: PrimaryContracts };

const MAX_TRIES = 5;

async function collectSecondary(
  connection: Connection,
  primary: Primary,
  chain: DirectoryChain,
): Promise<SecondaryEvidence> {
  for (let tries = 1; ; tries++) {
    try {
      const read = await readSecondary(connection, primary, chain);
      if (isCovered(read) || tries === MAX_TRIES) return read;
    } catch (error) {
      if (tries === MAX_TRIES) return { chainId: chain.chain_id, unread: error instanceof Error ? error.message : "" };
    }
    await pause(connection.pollMs);
  }
}

async function readSecondary(
  connection: Connection,
  { clients: primary, contracts: { minter: minterAddress, bridge } }: Primary,
  chain: DirectoryChain,
): Promise<ReadSecondary> {
  const there = await chainClients(connection, chain.chain_id);
  const eid = chain.layerzero_eid;
  if (eid === null) throw new Error("its LayerZero endpoint id is not known");
  const contracts = await secondaryContracts(connection, { primary, bridge, there, eid });
  const outbox = { address: contracts.outbox, abi: tokenBackingOutboxAbi } as const;
  const token = { address: contracts.token, abi: inferenceTokenAbi } as const;
  const dollar = { address: contracts.stablecoin, abi: stablecoinAbi } as const;
  const minter = { address: minterAddress, abi: tokenMinterAbi } as const;
  const { reader } = there;
  const { number: blockNumber } = await reader.getBlock({ blockTag: "finalized" });
  const at = { blockNumber };
  const supply = await reader.readContract({ ...token, ...at, functionName: "totalSupply" });
  const pending = await reader.readContract({ ...outbox, ...at, functionName: "pending" });
  const flushed = await reader.readContract({ ...outbox, ...at, functionName: "flushed" });
  const scale = await reader.readContract({ ...outbox, ...at, functionName: "SCALE" });
  const dollars = await reader.readContract({ ...dollar, ...at, functionName: "balanceOf", args: [outbox.address] });
  const final = await primary.reader.getBlock({ blockTag: "finalized" });
  const onPrimary = { blockNumber: final.number };
  const [line, gifted] = await primary.reader.readContract({
    ...{ ...minter, ...onPrimary, functionName: "lineOf", args: [eid] },
  });
  return {
    chainId: chain.chain_id,
    node: there.nodeOf,
    supplyToken: String(supply),
    lineToken: String(line),
    giftedToken: String(gifted),
    outboxToken: String(pending),
    flushedToken: String(flushed),
    bookedToken: String(await bookedOn(primary, minter.address, eid, final.number)),
    dollarsToken: String(dollars / scale),
  };
}

/** All dollars of a chain that the minter has booked, from its events. */
async function bookedOn(clients: ChainClients, address: `0x${string}`, eid: number, last: bigint): Promise<bigint> {
  const booked = { address, abi: tokenMinterAbi, eventName: "Booked", args: { eid }, strict: true } as const;
  const first = await firstBlockOf(clients, address, last);
  const events = await inRanges(first, last, (range) => clients.reader.getContractEvents({ ...booked, ...range }));
  return events.reduce((sum, { args }) => sum + args.amount, 0n);
}

async function collectPrimary(
  { clients, contracts: { settlement, minter, stablecoin } }: Primary,
  chains: readonly DirectoryChain[],
): Promise<BooksEvidence["primary"]> {
  const { reader, nodeOf } = clients;
  const { number: blockNumber } = await reader.getBlock({ blockTag: "finalized" });
  const books = await reader.readContract({
    ...{ address: settlement, abi: inferenceSettlementAbi, functionName: "books", blockNumber },
  });
  const scale = await reader.readContract({
    ...{ address: minter, abi: tokenMinterAbi, functionName: "SCALE", blockNumber },
  });
  const dollars = await reader.readContract({
    ...{ address: stablecoin, abi: stablecoinAbi, functionName: "balanceOf" },
    ...{ args: [minter] as const, blockNumber },
  });
  let listedLines = 0n;
  const eids = chains.flatMap(({ role, layerzero_eid: eid }) => (role === "secondary" && eid !== null ? eid : []));
  for (const eid of new Set(eids)) {
    const query = { address: minter, abi: tokenMinterAbi, functionName: "lineOf", args: [eid] } as const;
    listedLines += (await reader.readContract({ ...query, blockNumber }))[0];
  }
  const { backing, supply, credit, owed, lines } = books;
  return {
    node: nodeOf,
    firstBlockBy: (await firstBlockOf(clients, minter, blockNumber)).by,
    backingNanoUsd: String(backing),
    supplyNanoUsd: String(supply),
    creditNanoUsd: String(credit),
    owedNanoUsd: String(owed),
    linesNanoUsd: String(lines),
    listedLinesNanoUsd: String(listedLines * NANO_USD_PER_TOKEN_UNIT),
    dollarsToken: String(dollars / scale),
  };
}
