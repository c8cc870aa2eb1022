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

try {
  await main();
} catch (error) {
  const { shortMessage, message } = error as { shortMessage?: string; message?: string };
  say(shortMessage ?? message ?? String(error));
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { file, send, verify } = readArguments();
  const config = parseDeploymentConfig(readFileSync(file, "utf8"));
  const rpcUrls = readUrls(config);
  if (verify) {
    await verifyDeployment(config, rpcUrls);
    say("Every wire, peer, library, verifier set, role and owner is as the file says.");
    return;
  }
  const deployer = send ? privateKeyToAccount(readKey()) : undefined;
  say("Simulating on copies of the chains ...");
  const simulated = await simulate(config, { rpcUrls, onProgress: say });
  await sayCosts(simulated, rpcUrls);
  if (deployer === undefined) {
    say("The simulation passed. Nothing was sent: --send sends it.");
    print(simulated);
    return;
  }
  say("The simulation passed. Sending ...");
  const deployed = await deploy(config, { rpcUrls, deployer, onProgress: say });
  say("Deployed, sealed and read back: all is as the file says, and the deployer has no power.");
  print(deployed);
}

function readArguments(): { file: string; send: boolean; verify: boolean } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { send: { type: "boolean", default: false }, verify: { type: "boolean", default: false } },
  });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0 || (values.send && values.verify)) throw new DeploymentError(USAGE);
  return { file, ...values };
}

/** Node URLs often contain a secret, so they are not in the file. */
function readUrls(config: DeploymentConfig): Record<string, string> {
  const missing: string[] = [];
  const urls = Object.keys(config.chains).map((name) => {
    const variable = `RPC_URL_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`;
    const url = process.env[variable] ?? "";
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) missing.push(variable);
    return [name, url] as const;
  });
  if (missing.length > 0)
    throw new DeploymentError(`Set ${missing.join(", ")} to the http(s) URLs of the chains' nodes.`);
  return Object.fromEntries(urls);
}

function readKey(): Hex {
  const key = process.env.DEPLOYER_KEY ?? "";
  if (isHex(key) && key.length === 66) return key;
  throw new DeploymentError("Set DEPLOYER_KEY to the deployer's private key, 0x and 64 hexadecimal digits, to send.");
}

async function sayCosts(deployments: readonly ChainDeployment[], rpcUrls: Record<string, string>): Promise<void> {
  for (const { name, chainId, gasUsed } of deployments) {
    const gasPrice = await createPublicClient({ transport: http(rpcUrls[name]) }).getGasPrice();
    say(`${name} (chain ${chainId}): ${gasUsed} gas, ${formatEther(gasUsed * gasPrice)} at today's price.`);
  }
}

/** On the standard output, for programs. */
function print(deployments: readonly ChainDeployment[]): void {
  const plain = deployments.map(({ block, gasUsed, ...rest }) => ({
    ...rest,
    block: Number(block),
    gasUsed: Number(gasUsed),
  }));
  process.stdout.write(`${JSON.stringify(plain, null, 2)}\n`);
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
