import { setTimeout as sleep } from "node:timers/promises";
import type { Agent } from "./agents.ts";
import type { Child } from "./child.ts";
import { DevnetError } from "./devnet-error.ts";
import type { FileName, Folder } from "./folder.ts";
import type { Processes } from "./processes.ts";
import { programs } from "./programs.ts";

export type ComputersOptions = {
  processes: Processes;
  folder: Folder;
  gatewayUrl: string;
  environment: Readonly<Record<string, string | undefined>>;
};

/** The computers of the devnet's agents. */
export type Computers = {
  /** The number of the next agent. Throws {@link DevnetError} at the limit. */
  nextPlace(): number;
  /** Keeps the agent and starts its computer. Resolves to the reason if the computer ended at once. */
  add(agent: Agent): Promise<DevnetError | undefined>;
};

const MOST_AGENTS = 8;
/** The longest wait for a computer's first offer. The computer goes on trying. */
const OFFER_MS = 5_000;

/** Starts the computers of the agents of earlier starts. */
export async function startComputers(options: ComputersOptions): Promise<Computers> {
  const { processes, folder } = options;
  const agents = (folder.readJson("agents.json") as Agent[] | undefined) ?? [];
  const start = (agent: Agent, place: number): Promise<Child> =>
    processes.startTimed(() => startComputer(options, agent, place));
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
 * Resolves when the computer has offered, has ended, or takes long. A computer ends by itself when the gateway refuses
 * its offer for good. The devnet goes on then.
 */
async function startComputer(
  { processes, gatewayUrl, environment }: ComputersOptions,
  agent: Agent,
  place: number,
): Promise<Child> {
  const log = `computer-${place}.log` as FileName;
  const program = { ...programs.computer, name: `computer of ${agent.name}`, log };
  const own = {
    GATEWAY_URL: gatewayUrl,
    AGENT_TOKEN: agent.token,
    COMPUTER_KEY: agent.computer.privateKey,
    COMPUTER_KEY_FILE: "",
    COMPUTER_KEYSTORE: "",
    SHARE_PERCENT: "100",
    POLL_MS: "1000",
  };
  const child = processes.start(program, { environment: { ...environment, ...own } });
  const offers = child.ready();
  const timeout = new AbortController();
  const late = sleep(OFFER_MS, undefined, { signal: timeout.signal }).catch(() => {});
  await Promise.race([offers.catch(() => {}), child.ended, late]);
  timeout.abort();
  return child;
}
