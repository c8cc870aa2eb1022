import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { type Anvil, startAnvil } from "@inference/contracts/anvil";
import { deploy } from "@inference/contracts/deploy";
import { receiptOf } from "@inference/contracts/receipt";
import {
  LOCAL_CHAIN_NAMES,
  type LocalChainName,
  type LocalSite,
  prepareLocalChains,
} from "@inference/devnet/third-parties/local-chains";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import {
  type Address,
  createTestClient,
  encodePacked,
  type Hex,
  http,
  keccak256,
  pad,
  publicActions,
  toHex,
  walletActions,
  zeroAddress,
} from "viem";
import { type HDAccount, mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import type { KeeperSettings } from "../settings.ts";

/** Three local chains with everything deployed, without a relayer. */
export type ThreeChains = {
  sites: Readonly<Record<LocalChainName, ChainSite>>;
  settings(changes?: Partial<KeeperSettings>): KeeperSettings;
  /** Restores the chains as they were when they were shared. */
  revert(): Promise<void>;
};
export type ChainSite = LocalSite & {
  client: ReturnType<typeof clientOf>;
  contracts: Readonly<Record<string, Address>>;
  at(contract: string): Address;
  /** Throws if it reverts. */
  sent(hash: Hex): Promise<void>;
};

const account = (addressIndex: number): HDAccount =>
  mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex });
export const [alice, keeper, settler, deployer] = [account(0), account(1), account(8), account(9)] as const;

/** ITokenBridge.Kind. */
const ACTIVATION = 1;

let started: ReturnType<typeof start> | undefined;
const stops: (() => void | PromiseLike<void>)[] = [];

/** One set of chains for all test files of this process. */
export async function shareThreeChains(): Promise<ThreeChains> {
  started ??= start();
  const chains = await started;
  const clients = Object.values(chains.sites).map(({ client }) => client);
  const ids = await Promise.all(clients.map((client) => client.snapshot()));
  const revert = async (): Promise<void> => {
    await Promise.all(clients.map((client, index) => client.revert({ id: ids[index] ?? "0x" })));
  };
  return { ...chains, revert };
}

after(async () => {
  for (const stop of stops) await stop();
});

async function start(): Promise<Omit<ThreeChains, "revert">> {
  const anvils = await Promise.all([31337, 31338, 31339].map((chainId) => startAnvil(chainId)));
  stops.push(...anvils.map((anvil) => () => anvil[Symbol.asyncDispose]()));
  const chains = byName((_, index) => ({ chainId: 31337 + index, rpcUrl: (anvils[index] as Anvil).rpcUrl }));
  const world = await prepareLocalChains({
    chains,
    roles: {
      deployer,
      proxyAdmin: account(5).address,
      safeOwner: account(7).address,
      guardian: account(6).address,
      settler: settler.address,
      verifierKeys: [account(3).address, account(4).address],
    },
    confirmations: 1,
  });
  const deployed = await deploy(world.config, { rpcUrls: byName((name) => chains[name].rpcUrl), deployer });
  const sites = byName((name, index): ChainSite => {
    const site = world.sites[name];
    const client = clientOf(site.chain);
    const contracts = deployed[index]?.addresses ?? {};
    const sent = async (hash: Hex): Promise<void> => {
      const { status } = await receiptOf(client, hash);
      if (status !== "success") throw new Error(`${hash} reverted`);
    };
    return { ...site, client, contracts, at: (contract) => contracts[contract] ?? "0x", sent };
  });
  const folder = mkdtempSync(join(tmpdir(), "keeper-"));
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  return {
    sites,
    settings: (changes = {}) => ({
      databaseFile: join(folder, `${crypto.randomUUID()}.sqlite`),
      pollMs: 20,
      dailyBudgetWei: 10n ** 18n,
      minPayment: 1_000_000n,
      key: toHex(keeper.getHdKey().privateKey ?? new Uint8Array()),
      chains: LOCAL_CHAIN_NAMES.map((name, index) => {
        const { chain, eid, contracts } = sites[name];
        const startBlock = Number(deployed[index]?.block ?? 0);
        return { name, ...chain, eid, startBlock, confirmations: 64, contracts };
      }),
      ...changes,
    }),
  };
}

/** A message as LayerZero's endpoint hands it over, of the settler's own tokens. */
export async function activateFromAfar(
  site: ChainSite,
  { eid, amount }: { eid: number; amount: bigint },
): Promise<void> {
  const { client, layerZero } = site;
  await client.impersonateAccount({ address: layerZero.endpoint });
  await client.setBalance({ address: layerZero.endpoint, value: 10n ** 18n });
  const bridge = { address: site.at("tokenBridge"), abi: tokenBridgeAbi } as const;
  const message = encodePacked(
    ["uint8", "address", "address", "uint96"],
    [ACTIVATION, settler.address, settler.address, amount],
  );
  const origin = { srcEid: eid, sender: pad(bridge.address), nonce: 1n };
  const hash = await client.writeContract({
    ...bridge,
    account: layerZero.endpoint,
    functionName: "lzReceive",
    args: [origin, keccak256(message), message, zeroAddress, "0x"],
  });
  await client.stopImpersonatingAccount({ address: layerZero.endpoint });
  await site.sent(hash);
}

function byName<T>(make: (name: LocalChainName, index: number) => T): Record<LocalChainName, T> {
  return Object.fromEntries(LOCAL_CHAIN_NAMES.map((name, index) => [name, make(name, index)])) as Record<
    LocalChainName,
    T
  >;
}

function clientOf({ chainId, rpcUrl }: { chainId: number; rpcUrl: string }) {
  const chain = { ...foundry, id: chainId };
  const options = { chain, mode: "anvil", transport: http(rpcUrl), pollingInterval: 5, cacheTime: 0 } as const;
  return createTestClient(options).extend(publicActions).extend(walletActions);
}
