/** Deploys Uniswap v3 on a chain that lacks it, and creates pools with liquidity over all prices. */

import { connectDeployer, createContract, send } from "@inference/contracts/deployer";
import { npmCreationCode } from "@inference/contracts/npm-artifact";
import { type Account, type Address, concatHex, erc20Abi, maxUint256, pad, parseAbi, zeroAddress } from "viem";

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
  const create = (path: string, addresses: readonly Address[] = []): Promise<Address> =>
    createContract(
      deployer,
      path,
      concatHex([npmCreationCode(`@uniswap/${path}`), ...addresses.map((each) => pad(each))]),
    );
  const periphery = "v3-periphery/artifacts/contracts";
  const uniswapFactory = await create("v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json");
  const unwrapped = [uniswapFactory, zeroAddress];
  return {
    uniswapFactory,
    positionManager: await create(`${periphery}/NonfungiblePositionManager.sol/NonfungiblePositionManager.json`, [
      ...unwrapped,
      zeroAddress,
    ]),
    swapRouter: await create(`${periphery}/SwapRouter.sol/SwapRouter.json`, unwrapped),
    swapQuoter: await create(`${periphery}/lens/QuoterV2.sol/QuoterV2.json`, unwrapped),
  };
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
  const [one, other] = amounts;
  const [first, second] = BigInt(one.token) < BigInt(other.token) ? [one, other] : [other, one];
  const manager = { address: positionManager, abi: managerAbi } as const;
  const price = squareRoot((second.amount << 192n) / first.amount);
  const creation = {
    ...manager,
    functionName: "createAndInitializePoolIfNecessary",
    args: [first.token, second.token, feeTier, price],
  } as const;
  const { result: pool } = await deployer.reader.simulateContract({ ...creation, account });
  await send(deployer, creation);
  for (const { token: address } of amounts) {
    await send(deployer, { address, abi: erc20Abi, functionName: "approve", args: [positionManager, maxUint256] });
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
  await send(deployer, { ...manager, functionName: "mint", args: [position], gas: MINT_GAS });
  const growth = { functionName: "increaseObservationCardinalityNext", args: [observations] } as const;
  await send(deployer, { address: pool, abi: managerAbi, ...growth });
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
