import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import type { TestedDevnet } from "@inference/devnet/testing/shared-devnet";
import { inDeepRun, isDeep } from "@inference/protocol/testing/deep";
import { createPublicClient, http } from "viem";
import type { makeTerminal } from "./in-process.ts";
import { runAndKill } from "./killed.ts";

type Terminal = ReturnType<typeof makeTerminal> & { json(...argv: string[]): Promise<Record<string, unknown>> };
type Stand = {
  openTerminal(): Terminal;
  /** A slow node, so that a process can be killed between two calls. */
  slowNode(): string;
  devnet(): TestedDevnet;
  /** Staking tokens for the address. */
  fund(address: string): Promise<void>;
};
type Chain = "primary" | "secondary1";

/** The dollars that the command moves on its chain and in the balance, and the number of its transactions. */
type Way = {
  argv: string[];
  chain: Chain;
  /** The lines after which the process dies, in order. */
  at: string[];
  token: number;
  dollar: number;
  credit: number;
  transactions: number;
};

const steps = (name: string, ...more: string[]) =>
  ["signed", "sent", "confirmed", ...more].map((at) => `${name}: ${at}`);
/**
 * All combinations take minutes. The fast run interrupts mint by permit at each line and activate where it differs, kills
 * a real process at the second line of activate, and simulates all other interruptions in this process.
 */
const mintOf = { chain: "primary", token: 1, dollar: -1, credit: 0 } as const;
const activationOf = { token: -1, dollar: 0, credit: 1, transactions: 1 } as const;

const ways: Readonly<Record<string, Way>> = {
  "mint by permit": { ...mintOf, argv: ["mint", "1"], at: steps("mint"), transactions: 1 },
  "mint by approval": {
    ...{ ...mintOf, argv: ["mint", "1", "--approve"], transactions: 2 },
    at: [...steps("approve"), ...steps("mint")],
  },
  activate: {
    ...{ ...activationOf, argv: ["activate", "1"], chain: "primary" },
    at: isDeep ? steps("activate", "final", "credited") : ["activate: sent", "activate: credited"],
  },
  "activate on a secondary chain": {
    ...{ ...activationOf, argv: ["activate", "1", "--chain", "secondary1"], chain: "secondary1" },
    at: steps("activate", "final", "waiting", "credited"),
  },
  bridge: {
    ...{ argv: ["bridge", "1", "--from", "primary", "--to", "secondary2"], chain: "primary" },
    at: steps("bridge", "final", "on its way"),
    ...{ token: -1, dollar: 0, credit: 0, transactions: 1 },
  },
};

/** Paying commands, interrupted at each step and run again: nothing is paid twice, and nothing is lost. */
export function testKilled({ openTerminal, slowNode, devnet, fund }: Stand): void {
  for (const [way, { argv, chain, at, ...moved }] of Object.entries(ways)) {
    const isPlain = argv.length === 2;
    test(`${way}: interrupted at any step and run again, it is paid once`, isPlain ? {} : inDeepRun, async () => {
      const terminal = openTerminal();
      const { infer, json } = terminal;
      await json("login", "--devnet", "--wallet", "2");
      await json("mint", "20", "--chain", chain);
      for (const [index, line] of at.entries()) {
        const before = await stateOf(terminal, devnet(), chain);
        const slowly = isDeep || (index === 0 && argv[0] === "activate") ? slowNode() : null;
        const isOver = await interrupt(terminal, argv, { line, slowly });
        const again = isOver ? await infer("resume") : await infer(...argv);
        equal(again.code, 0, `${line}: ${again.stderr}`);
        if (!isOver) match(again.stderr, /Going on with `infer .*`, which was interrupted/, line);
        deepEqual(await stateOf(terminal, devnet(), chain), movedBy(before, moved), line);
        match((await infer("resume")).stdout, /Nothing was interrupted/, line);
      }
      // The output is printed and the stored transaction remains: the next run reports it.
      const before = await stateOf(terminal, devnet(), chain);
      await terminal.dies("output", ...argv);
      match((await infer(...argv)).stderr, /Going on with/);
      deepEqual(await stateOf(terminal, devnet(), chain), movedBy(before, moved));
    });
  }

  test("an agent's owner is interrupted at any step, and it is done once", inDeepRun, async () => {
    const terminal = openTerminal();
    const { dies, json } = terminal;
    const login = await json("login", "--devnet", "--wallet", "3");
    await fund(String(login.address));
    const sent = async () => (await stateOf(terminal, devnet(), "primary")).transactions;
    /** Dies at each of the lines in turn, and then ends. */
    const once = async (transactions: number, lines: string[], ...argv: string[]) => {
      const before = await sent();
      for (const line of lines) await dies(new RegExp(line), ...argv);
      await dies("output", ...argv);
      const output = await json(...argv);
      equal(output.is_resumed, true, argv.join(" "));
      equal(await sent(), before + transactions, argv.join(" "));
      return output;
    };
    const { agent_token: token } = await once(1, steps("create"), "agent", "create", "Miss Bee", "BEE");
    const agent = String(token);
    await once(2, [...steps("approve"), ...steps("stake")], "agent", "stake", agent, "100");
    await once(1, steps("reserve"), "agent", "reserve", agent, "90");
    const key = ["--computer-key-file", "bee.key"];
    const { computer } = await once(1, steps("computer"), "agent", "computer", agent, ...key);
    // An offer is not a transaction: a second run sends it again.
    await dies("output", "agent", "offer", agent, "--share", "80", "--standing", ...key);
    await json("agent", "offer", agent, "--share", "80", "--standing", ...key);
    const books = await json("agent", "earnings", agent);
    deepEqual([books.stake, books.reserve, books.computer], ["100", "90", computer]);
    const { offer } = (await json("agent", "offer", agent)) as { offer: { share_bps: number } };
    equal(offer.share_bps, 8_000);
  });
}

/** True: the process ended before it was killed. */
async function interrupt(
  { dies, variables }: Terminal,
  argv: string[],
  { line, slowly }: { line: string; slowly: string | null },
): Promise<boolean> {
  if (slowly === null) return (await dies(new RegExp(line), ...argv)).stdout !== "";
  const at = { at: new RegExp(line), environment: variables };
  const { wasKilled, stdout, stderr } = await runAndKill([...argv, "--rpc", `31337=${slowly}`], at);
  ok(wasKilled || stdout !== "", `${line}: ${stderr}`);
  return stdout !== "";
}

type State = Pick<Way, "token" | "dollar" | "credit" | "transactions">;

function movedBy(before: State, moved: State): State {
  const names = ["token", "dollar", "credit", "transactions"] as const;
  return Object.fromEntries(names.map((name) => [name, before[name] + moved[name]])) as State;
}

async function stateOf({ json }: Terminal, { ready }: TestedDevnet, on: Chain): Promise<State> {
  const chain = ready.chains.find(({ name }) => name === on);
  const { address } = (await json("wallet")) as { address: `0x${string}` };
  const reader = createPublicClient({ transport: http(chain?.rpcUrl) });
  return { ...(await books(json, chain?.chainId)), transactions: await reader.getTransactionCount({ address }) };
}

/** The account's dollars on a chain and in its balance. */
export async function books(json: Terminal["json"], chainId = 31_337) {
  const { chains } = (await json("wallet")) as {
    chains: { chain_id: number; dollars: string; amount_token: string }[];
  };
  const chain = chains.find(({ chain_id: id }) => id === chainId);
  const { total_credits_nano_usd: credits } = (await json("credits")) as { total_credits_nano_usd: number };
  return { token: Number(chain?.amount_token) / 1e6, dollar: Number(chain?.dollars), credit: credits / 1e9 };
}
