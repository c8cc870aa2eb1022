/**
 * `npm run deploy:contracts -- <file>`: simulates a deployment on forks of its chains and sends nothing. `--send` also sends it;
 * `--verify` checks an existing deployment. docs/deploying-contracts.md is the operator's guide.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { createPublicClient, formatEther, type Hex, http, isHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type ChainDeployment, deploy, verifyDeployment } from "./deploy.ts";
import { DeploymentError } from "./deployer.ts";
import { type DeploymentConfig, parseDeploymentConfig } from "./deployment-config.ts";
import { simulate } from "./simulate.ts";

const USAGE = "npm run deploy:contracts -- <file> [--send | --verify]";

export interface Surroundings {
  readonly args: readonly string[];
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** For people. */
  say(line: string): void;
  /** For programs. */
  print(text: string): void;
}

/** Resolves to the exit code. */
export async function deployMain(surroundings: Surroundings): Promise<number> {
  try {
    await run(surroundings);
    return 0;
  } catch (error) {
    const { shortMessage, message } = error as { shortMessage?: string; message?: string };
    surroundings.say(shortMessage ?? message ?? String(error));
    return 1;
  }
}

async function run({ args, variables, say, print }: Surroundings): Promise<void> {
  const { file, send, verify } = readArguments(args);
  const config = parseDeploymentConfig(readFileSync(file, "utf8"));
  const rpcUrls = readUrls(config, variables);
  if (verify) {
    await verifyDeployment(config, rpcUrls);
    say("Every wire, peer, library, verifier set, role and owner is as the file says.");
    return;
  }
  const deployer = send ? privateKeyToAccount(readKey(variables)) : undefined;
  say("Simulating on copies of the chains ...");
  const simulated = await simulate(config, { rpcUrls, onProgress: say });
  for (const line of await costsOf(simulated, rpcUrls)) say(line);
  if (deployer === undefined) {
    say("The simulation passed. Nothing was sent: --send sends it.");
    print(textOf(simulated));
    return;
  }
  say("The simulation passed. Sending ...");
  const deployed = await deploy(config, { rpcUrls, deployer, onProgress: say });
  say("Deployed, sealed and read back: all is as the file says, and the deployer has no power.");
  print(textOf(deployed));
}

function readArguments(args: readonly string[]): { file: string; send: boolean; verify: boolean } {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { send: { type: "boolean", default: false }, verify: { type: "boolean", default: false } },
  });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0 || (values.send && values.verify)) throw new DeploymentError(USAGE);
  return { file, ...values };
}

/** Node URLs often contain a secret, so they are not in the file. */
function readUrls(config: DeploymentConfig, variables: Surroundings["variables"]): Record<string, string> {
  const missing: string[] = [];
  const urls = Object.keys(config.chains).map((name) => {
    const variable = `RPC_URL_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`;
    const url = variables[variable] ?? "";
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) missing.push(variable);
    return [name, url] as const;
  });
  if (missing.length > 0)
    throw new DeploymentError(`Set ${missing.join(", ")} to the http(s) URLs of the chains' nodes.`);
  return Object.fromEntries(urls);
}

function readKey(variables: Surroundings["variables"]): Hex {
  const key = variables.DEPLOYER_KEY ?? "";
  if (isHex(key) && key.length === 66) return key;
  throw new DeploymentError("Set DEPLOYER_KEY to the deployer's private key, 0x and 64 hexadecimal digits, to send.");
}

async function costsOf(
  deployments: readonly ChainDeployment[],
  rpcUrls: Readonly<Record<string, string>>,
): Promise<string[]> {
  return Promise.all(
    deployments.map(async ({ name, chainId, gasUsed }) => {
      const gasPrice = await createPublicClient({ transport: http(rpcUrls[name]) }).getGasPrice();
      return `${name} (chain ${chainId}): ${gasUsed} gas, ${formatEther(gasUsed * gasPrice)} at today's price.`;
    }),
  );
}

function textOf(deployments: readonly ChainDeployment[]): string {
  return JSON.stringify(deployments, (_, value) => (typeof value === "bigint" ? Number(value) : value), 2);
}

if (import.meta.main) {
  process.exitCode = await deployMain({
    args: process.argv.slice(2),
    variables: process.env,
    say: (line) => void process.stderr.write(`${line}\n`),
    print: (text) => void process.stdout.write(`${text}\n`),
  });
}
