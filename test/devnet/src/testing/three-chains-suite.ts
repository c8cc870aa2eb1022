import { deepEqual, equal, fail, match, ok } from "node:assert/strict";
import { before, describe, test } from "node:test";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { eventually } from "@inference/protocol/testing/eventually";
import { statusAnswer } from "@inference/protocol/wire/answers";
import { activationsAnswer } from "@inference/protocol/wire/dollars";
import { type Address, encodePacked, type Hex, keccak256 } from "viem";
import type { Devnet } from "../devnet.ts";
import type { LocalChainName } from "../third-parties/local-chains.ts";
import { readCredits } from "./api.ts";
import { clientOf, deliverAsEndpoint } from "./local-chain.ts";
import { creditOf, walletOn } from "./wallet.ts";

const DOLLAR = 1_000_000n;
/** The float of each secondary chain in the deployment. */
const FLOAT = 100n * DOLLAR;
const secondaries = ["secondary1", "secondary2"] as const;
let devnet: Devnet;

/** Tests of three chains, on a devnet that serves no test afterwards: its balances are wrong at the end. */
export function testThreeChains(running: () => Devnet): void {
  describe("three chains", () => {
    before(() => {
      devnet = running();
    });

    test("I11: a contract has one address on every chain that has it", () => {
      const foreign =
        /^(stablecoin|stakingToken|dollarPool|protocolSafe|uniswapFactory|positionManager|swap(Router|Quoter)|layerZeroEndpoint)$/;
      const places = new Map<string, Set<Address>>();
      for (const contracts of Object.values(devnet.ready.contracts)) {
        for (const [name, address] of Object.entries(contracts)) {
          if (!foreign.test(name)) places.set(name, (places.get(name) ?? new Set()).add(address));
        }
      }
      ok(places.size > 10);
      for (const [name, addresses] of places) equal(addresses.size, 1, name);
    });

    for (const [index, name] of secondaries.entries()) {
      test(`a wallet on ${name} mints at par with its dollar, and its dollars come to be booked on the primary`, async () => {
        const there = chain(name, index + 1);
        const eid = there.chainId;
        const lineBefore = await lineOf(eid);
        await there.mint(20n * DOLLAR);
        equal(await there.tokens(), 20n * DOLLAR);
        // Flushed by the keeper, carried by the relayer, booked by the keeper.
        await eventually(async () => (await lineOf(eid)) === lineBefore + 20n * DOLLAR);
        equal(await there.pending(), 0n);
        await booksAgree();
      });

      // The fast run goes on from one of them: the chains differ in their dollars alone.
      if (name === "secondary1" && process.env.DEEP !== "1") continue;

      test(`tokens go from ${name} to the primary and back, and are never twice`, async () => {
        const there = chain(name, index + 1);
        const here = chain("primary", index + 1);
        const before = { here: await here.tokens(), there: await there.tokens() };
        await there.bridge(chain("primary", 0).chainId, 8n * DOLLAR);
        equal(await there.tokens(), before.there - 8n * DOLLAR, "burned at once");
        await eventually(async () => (await here.tokens()) === before.here + 8n * DOLLAR);
        await booksAgree();
        await here.bridge(there.chainId, 3n * DOLLAR);
        equal(await here.tokens(), before.here + 5n * DOLLAR);
        await eventually(async () => (await there.tokens()) === before.there - 5n * DOLLAR);
        await booksAgree();
      });

      test(`activateOnBase on ${name} raises the one balance on the primary, and the gateway sees it`, async () => {
        const { gatewayUrl, apiKey } = devnet.ready;
        // The wallet of the API key.
        const there = chain(name, 0);
        const before = {
          chain: await creditOf(devnet.ready, there.account),
          gateway: await readCredits(gatewayUrl, apiKey),
        };
        await there.mint(4n * DOLLAR);
        await there.activateOnBase(4n * DOLLAR);
        equal(await there.tokens(), 0n);
        await eventually(async () => (await creditOf(devnet.ready, there.account)) === before.chain + 4_000_000_000n);
        await eventually(async () => {
          const { total_credits_nano_usd: total } = await readCredits(gatewayUrl, apiKey);
          return total === before.gateway.total_credits_nano_usd + 4_000_000_000;
        });
        await booksAgree();
      });
    }

    test("an activation above float and line waits for its dollars, which leave when it is time on an idle chain", async () => {
      const there = chain("secondary2", 3);
      const line = await lineOf(there.chainId);
      const amount = line + 1_000n * DOLLAR;
      ok(line < 2n * FLOAT);
      await there.mint(amount);
      await there.activateOnBase(amount);
      await eventually(async () => (await there.tokens()) === 0n);
      // The last batch left less than an hour ago.
      await eventually(async () => (await waitingCount()) === 1);
      equal(await creditOf(devnet.ready, there.account), 0n);
      const waiting = await eventually(async () => {
        const [activation] = await activationsTo(there.account);
        return activation?.stage === "waiting" && activation;
      });
      deepEqual([waiting.source_chain_id, waiting.block], [there.chainId, null]);
      equal(BigInt(waiting.amount_nano_usd), amount * 1_000n);
      match(
        waiting.waits_for ?? "",
        /^The dollars of chain \d+ on the primary chain are \$[\d.]+, and it needs \$[\d.]+\./,
      );
      ok(Date.parse(waiting.due_at ?? "") > Date.parse(waiting.since ?? ""));
      await there.passTime(3_601);
      await eventually(async () => (await creditOf(devnet.ready, there.account)) === amount * 1_000n);
      await booksAgree();
      const credited = await eventually(async () => {
        const [activation] = await activationsTo(there.account);
        return activation?.stage === "credited" && activation;
      });
      deepEqual([credited.guid, credited.waits_for, credited.due_at], [waiting.guid, null, null]);
    });

    test("a message that its chain never sent is in the status: the books do not add up", async () => {
      const { chainId, account } = chain("secondary1", 4);
      ok((await readStatus()).books?.adds_up);
      await forge(chainId, encodePacked(["uint8", "address", "address", "uint96"], [1, account, account, DOLLAR]));
      await eventually(async () => (await readStatus()).books?.adds_up === false);
      const { books } = await readStatus();
      deepEqual(
        books?.chains.map(({ adds_up: addsUp }) => addsUp),
        [false, true],
      );
    });
  });
}

/** A chain as the wallet `index` uses it. */
function chain(name: LocalChainName, index: number) {
  return walletOn(devnet.ready, name, index);
}

function primaryContract(name: string): Address {
  return devnet.ready.contracts.primary?.[name] ?? "0x";
}

async function lineOf(eid: number): Promise<bigint> {
  const [balance] = await chain("primary", 0).reader.readContract({
    address: primaryContract("tokenMinter"),
    abi: tokenMinterAbi,
    functionName: "lineOf",
    args: [eid],
  });
  return balance;
}

async function waitingCount(): Promise<number> {
  const events = await chain("primary", 0).reader.getContractEvents({
    address: primaryContract("tokenBridge"),
    abi: tokenBridgeAbi,
    eventName: "Waiting",
    fromBlock: 0n,
  });
  return events.length;
}

/** I1a on the primary chain, to the nano-dollar, and the sum over all chains by the gateway's status. */
async function booksAgree(): Promise<void> {
  const books = await chain("primary", 0).reader.readContract({
    address: primaryContract("inferenceSettlement"),
    abi: inferenceSettlementAbi,
    functionName: "books",
  });
  deepEqual(books.backing, books.supply + books.credit + books.owed + books.lines);
  const { books: told } = await readStatus();
  deepEqual([told?.adds_up, told?.chains.map(({ known }) => known)], [true, [true, true]]);
}

async function readStatus() {
  const answer = await fetch(`${devnet.ready.gatewayUrl}/api/v1/status`);
  return statusAnswer.parse(await answer.json()).data;
}

async function activationsTo(account: Address) {
  const answer = await fetch(`${devnet.ready.gatewayUrl}/api/v1/activations/${account}`);
  return activationsAnswer.parse(await answer.json()).data.activations;
}

/** Delivers a message on the primary chain as LayerZero's endpoint does, which has none of it. */
async function forge(srcEid: number, message: Hex): Promise<void> {
  const [endpoint, bridge] = [primaryContract("layerZeroEndpoint"), primaryContract("tokenBridge")];
  const client = clientOf(devnet.ready.chains[0] ?? fail());
  await deliverAsEndpoint(client, { endpoint, bridge, srcEid, guid: keccak256("0xf0"), message });
}
