/** Deploys Uniswap v3 on a chain that lacks it, and creates pools with liquidity over all prices. */
import {
  type Account,
  type Address,
  concatHex,
  encodeAbiParameters,
  erc20Abi,
  maxUint256,
  parseAbi,
  zeroAddress,
} from "viem";
import { confirm, connectDeployer, createContract } from "./deployer.ts";
import { npmCreationCode } from "./npm-artifact.ts";

export interface UniswapContracts {
  readonly uniswapFactory: Address;
  readonly positionManager: Address;
  readonly swapRouter: Address;
  readonly swapQuoter: Address;
}

/**
 * The deployer owns the factory. Positions and swaps in the native coin are not possible, because no wrapped coin is
 * deployed.
 */
export async function deployUniswap(rpcUrl: string, account: Account): Promise<UniswapContracts> {
  const deployer = await connectDeployer({ rpcUrl, account });
  const uniswapFactory = await createContract(
    deployer,
    "UniswapV3Factory",
    npmCreationCode("@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json"),
  );
  const address = { type: "address" } as const;
  const positionManager = await createContract(
    deployer,
    "NonfungiblePositionManager",
    concatHex([
      npmCreationCode(
        "@uniswap/v3-periphery/artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json",
      ),
      encodeAbiParameters([address, address, address], [uniswapFactory, zeroAddress, zeroAddress]),
    ]),
  );
  const swapRouter = await createContract(
    deployer,
    "SwapRouter",
    concatHex([
      npmCreationCode("@uniswap/v3-periphery/artifacts/contracts/SwapRouter.sol/SwapRouter.json"),
      encodeAbiParameters([address, address], [uniswapFactory, zeroAddress]),
    ]),
  );
  const swapQuoter = await createContract(
    deployer,
    "QuoterV2",
    concatHex([
      npmCreationCode("@uniswap/v3-periphery/artifacts/contracts/lens/QuoterV2.sol/QuoterV2.json"),
      encodeAbiParameters([address, address], [uniswapFactory, zeroAddress]),
    ]),
  );
  return { uniswapFactory, positionManager, swapRouter, swapQuoter };
}

export interface SeedPoolOptions {
  readonly rpcUrl: string;
  /** Holds both amounts, and owns the position. */
  readonly account: Account;
  readonly positionManager: Address;
  /** The liquidity to add. The initial price is the quotient of the amounts, in each token's units. */
  readonly amounts: readonly [PoolAmount, PoolAmount];
  /** In hundredths of a basis point. */
  readonly feeTier: 500 | 3000;
  /** The number of price observations that the pool stores. */
  readonly observations: number;
}

export interface PoolAmount {
  readonly token: Address;
  readonly amount: bigint;
}

/** Creates a new pool with liquidity over all prices; resolves to its address. */
export async function seedPool(options: SeedPoolOptions): Promise<Address> {
  const { rpcUrl, account, positionManager, amounts, feeTier, observations } = options;
  const deployer = await connectDeployer({ rpcUrl, account });
  const { reader, writer } = deployer;
  const [one, other] = amounts;
  const [first, second] = BigInt(one.token) < BigInt(other.token) ? [one, other] : [other, one];
  const manager = { address: positionManager, abi: managerAbi } as const;
  const price = squareRoot((second.amount << 192n) / first.amount);
  const creation = {
    ...manager,
    functionName: "createAndInitializePoolIfNecessary",
    args: [first.token, second.token, feeTier, price],
  } as const;
  const { result: pool } = await reader.simulateContract({ ...creation, account });
  await confirm(deployer, "createPool", await writer.writeContract(creation));
  for (const { token } of amounts) {
    const approval = { address: token, abi: erc20Abi, functionName: "approve" } as const;
    await confirm(
      deployer,
      "approve",
      await writer.writeContract({ ...approval, args: [positionManager, maxUint256] }),
    );
  }
  const position = {
    token0: first.token,
    token1: second.token,
    fee: feeTier,
    tickLower: -LAST_TICK[feeTier],
    tickUpper: LAST_TICK[feeTier],
    amount0Desired: first.amount,
    amount1Desired: second.amount,
    amount0Min: 0n,
    amount1Min: 0n,
    recipient: account.address,
    deadline: maxUint256,
  };
  const mint = { ...manager, functionName: "mint", args: [position], gas: MINT_GAS } as const;
  const minted = await writer.writeContract(mint);
  await confirm(deployer, "mint a position", minted);
  const remembered = await writer.writeContract({
    address: pool,
    abi: managerAbi,
    functionName: "increaseObservationCardinalityNext",
    args: [observations],
  });
  await confirm(deployer, "increaseObservationCardinalityNext", remembered);
  return pool;
}

/** A fixed value, because in the second after an estimate the pool writes one observation more. */
const MINT_GAS = 1_000_000n;
/** The last tick of each tier, a multiple of its spacing. */
const LAST_TICK = { 500: 887_270, 3000: 887_220 } as const;

function squareRoot(value: bigint): bigint {
  let root = 1n << BigInt(Math.ceil(value.toString(2).length / 2));
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

const managerAbi = parseAbi([
  "struct Position { address token0; address token1; uint24 fee; int24 tickLower; int24 tickUpper; uint256 amount0Desired; uint256 amount1Desired; uint256 amount0Min; uint256 amount1Min; address recipient; uint256 deadline; }",
  "function createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96) payable returns (address pool)",
  "function mint(Position position) payable returns (uint256 tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)",
  "function increaseObservationCardinalityNext(uint16 observationCardinalityNext)",
]);
