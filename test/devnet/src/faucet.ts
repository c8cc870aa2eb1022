import { confirm, connectDeployer } from "@inference/contracts/deployer";
import { type Address, getAddress, isAddress, parseEther } from "viem";
import type { Chains } from "./chains.ts";
import { contract, type Deployment } from "./deployment.ts";
import { DevnetError } from "./devnet-error.ts";
import { fundDollars, LOCAL_CHAIN_NAMES, type LocalChainName } from "./third-parties/local-chains.ts";
import { fundLocalToken } from "./third-parties/local-token.ts";
import { roles } from "./wallets.ts";

/** The gift to an address on every chain at each call. */
export const FAUCET = {
  /** The chain's coin. */
  coins: 10n,
  /** The chain's stablecoin. */
  dollars: 10_000n,
  /** The staking-derived token: each staked unit gives one dollar of inference a day. */
  stakingTokens: 1_000n,
} as const;

/** Gives `text`, an address, gas, dollars and staking tokens on every chain. Throws {@link DevnetError}. */
export async function fund(
  { chains, deployment }: { chains: Chains; deployment: Deployment },
  { text, say }: { text: string; say(line: string): void },
): Promise<void> {
  if (!isAddress(text))
    throw new DevnetError(
      `${text} is not an address: 0x and 40 hexadecimal digits, in lower case or with a right checksum.`,
    );
  const to = getAddress(text);
  await Promise.all(
    LOCAL_CHAIN_NAMES.map(async (name) => {
      await fundOn(chains[name].rpcUrl, { chainId: chains[name].chainId, deployment: deployment[name], to });
      say(resultLine(name, deployment));
    }),
  );
}

async function fundOn(
  rpcUrl: string,
  { chainId, deployment, to }: { chainId: number; deployment: Deployment[LocalChainName]; to: Address },
): Promise<void> {
  const { deployer: issuer } = roles;
  const giver = await connectDeployer({ rpcUrl, account: issuer });
  const coins = parseEther(String(FAUCET.coins));
  await confirm(giver, "gas", await giver.writer.sendTransaction({ to, value: coins }));
  const site = {
    chain: { chainId, rpcUrl },
    stablecoin: contract(deployment, "stablecoin"),
    stablecoinDecimals: deployment.stablecoin.decimals === 18 ? 18 : 6,
  } as const;
  await fundDollars(site, { issuer, to, dollars: FAUCET.dollars });
  const amount = parseEther(String(FAUCET.stakingTokens));
  await fundLocalToken({ rpcUrl, token: contract(deployment, "stakingToken"), issuer, to, amount });
}

function resultLine(name: LocalChainName, deployment: Deployment): string {
  const { symbol } = deployment[name].stablecoin;
  return `${name}: ${FAUCET.coins} coins for gas, ${FAUCET.dollars} ${symbol}, ${FAUCET.stakingTokens} staking tokens.`;
}
