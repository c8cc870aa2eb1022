import { setTimeout as sleep } from "node:timers/promises";
import type { Agent } from "./agents.ts";
import type { Chain } from "./chain.ts";
import type { Child } from "./child.ts";
import { DevnetError } from "./devnet-error.ts";
import type { FileName, Folder } from "./folder.ts";
import type { Processes } from "./processes.ts";
import type { Services } from "./services.ts";

export type ComputersOptions = {
  processes: Processes;
  services: Services;
  folder: Folder;
  chain: Pick<Chain, "rpcUrl">;
  gatewayUrl: string;
  environment: Readonly<Record<string, string | undefined>>;
};

/** The computers of the devnet's agents. */
export type Computers = {
  /** The number of the next agent. Throws {@link DevnetError} if there may be no more. */
  nextPlace(): number;
  /** Keeps the agent and starts its computer. Resolves to why that ended at once, if it did. */
  add(agent: Agent): Promise<DevnetError | undefined>;
};

const MOST_AGENTS = 8;
/** How long a computer is waited for, which goes on trying. */
const OFFER_MS = 5_000;

/** Starts the computer of each agent that an earlier start has made. */
export async function startComputers(options: ComputersOptions): Promise<Computers> {
  const { services, folder } = options;
  const agents = (folder.readJson("agents.json") as Agent[] | undefined) ?? [];
  const start = (agent: Agent, place: number): Promise<Child> =>
    services.start(() => startComputer(options, agent, place));
  await Promise.all(agents.map((agent, index) => start(agent, index + 1)));
  return {
    nextPlace() {
      if (agents.length < MOST_AGENTS) return agents.length + 1;
      throw new DevnetError(`A devnet has at most ${MOST_AGENTS} agents: npm start -- --fresh begins anew.`);
    },
    async add(agent) {
      agents.push(agent);
      folder.writeJson("agents.json", agents);
      const { ended } = await start(agent, agents.length);
      return await Promise.race([ended, undefined]);
    },
  };
}

/**
 * Resolves when the computer has offered, has ended, or takes long. If it ends by itself, which it does when the
 * gateway refuses its offer for good, the devnet goes on.
 */
async function startComputer(
  { processes, folder, chain, gatewayUrl, environment }: ComputersOptions,
  agent: Agent,
  place: number,
): Promise<Child> {
  const child = processes.start({
    name: `computer of ${agent.name}`,
    script: new URL("../../../computer/src/main.ts", import.meta.url),
    environment: {
      ...environment,
      GATEWAY_URL: gatewayUrl,
      AGENT_TOKEN: agent.token,
      COMPUTER_KEY: agent.computer.privateKey,
      COMPUTER_KEYSTORE: "",
      PRIMARY_RPC_URL: chain.rpcUrl,
      SHARE_BPS: "10000",
      POLL_MS: "1000",
    },
    logFile: folder.file(`computer-${place}.log` as FileName),
    mayEnd: true,
  });
  const offers = child.says((line) => (line.startsWith("Offered ") ? true : undefined));
  const timeout = new AbortController();
  const late = sleep(OFFER_MS, undefined, { signal: timeout.signal }).catch(() => {});
  await Promise.race([offers.catch(() => {}), child.ended, late]);
  timeout.abort();
  return child;
}
