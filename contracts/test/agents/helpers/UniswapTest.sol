// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {IUniswapV3Factory} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Factory.sol";
import {IUniswapV3Pool} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";

import {BaseTest} from "../../helpers/BaseTest.sol";
import {IPositionManager, IRouter} from "./IUniswap.sol";

/// @notice Uniswap v3 as deployed in production: its own bytecode, from npm.
abstract contract UniswapTest is BaseTest {
    string private constant UNISWAP = "../node_modules/@uniswap/";
    int24 internal constant MAX_TICK = 887_220; // the largest that both spacings, 10 and 60, divide

    IUniswapV3Factory internal uniswapFactory;
    IPositionManager internal positions;
    IRouter internal router;

    function deployUniswap() internal {
        uniswapFactory = IUniswapV3Factory(
            deployCode(string.concat(UNISWAP, "v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json"))
        );
        string memory periphery = string.concat(UNISWAP, "v3-periphery/artifacts/contracts/");
        address noWeth = makeAddr("weth");
        positions = IPositionManager(
            deployCode(
                string.concat(periphery, "NonfungiblePositionManager.sol/NonfungiblePositionManager.json"),
                abi.encode(uniswapFactory, noWeth, address(0))
            )
        );
        router = IRouter(
            deployCode(string.concat(periphery, "SwapRouter.sol/SwapRouter.json"), abi.encode(uniswapFactory, noWeth))
        );
    }

    /// @dev A pool with a price at which `amountA` of `a` is worth `amountB` of `b`.
    function createPool(address a, address b, uint24 fee, uint256 amountA, uint256 amountB)
        internal
        returns (IUniswapV3Pool)
    {
        (address token0, address token1) = a < b ? (a, b) : (b, a);
        (uint256 amount0, uint256 amount1) = a < b ? (amountA, amountB) : (amountB, amountA);
        uint160 sqrtPrice = uint160(Math.sqrt(Math.mulDiv(amount1, 1 << 192, amount0)));
        return IUniswapV3Pool(positions.createAndInitializePoolIfNecessary(token0, token1, fee, sqrtPrice));
    }

    /// @dev Adds at most these amounts of this contract as liquidity between two ticks.
    function addLiquidity(IUniswapV3Pool pool, uint256 amount0, uint256 amount1, int24 tickLower, int24 tickUpper)
        internal
        returns (uint256 added0, uint256 added1)
    {
        (, added0, added1) = addPosition(pool, amount0, amount1, tickLower, tickUpper);
    }

    /// @dev Same as {addLiquidity}; also returns the position.
    function addPosition(IUniswapV3Pool pool, uint256 amount0, uint256 amount1, int24 tickLower, int24 tickUpper)
        internal
        returns (uint256 positionId, uint256 added0, uint256 added1)
    {
        (address token0, address token1) = (pool.token0(), pool.token1());
        IERC20(token0).approve(address(positions), amount0);
        IERC20(token1).approve(address(positions), amount1);
        (positionId,, added0, added1) = positions.mint(
            IPositionManager.MintParams(
                token0, token1, pool.fee(), tickLower, tickUpper, amount0, amount1, 0, 0, address(this), block.timestamp
            )
        );
    }

    /// @dev A swap by `trader` on the pool of the two tokens.
    function trade(address trader, IUniswapV3Pool pool, address tokenIn, uint256 amountIn) internal returns (uint256) {
        address tokenOut = tokenIn == pool.token0() ? pool.token1() : pool.token0();
        vm.startPrank(trader);
        IERC20(tokenIn).approve(address(router), amountIn);
        uint256 amountOut = router.exactInputSingle(
            IRouter.ExactInputSingleParams(tokenIn, tokenOut, pool.fee(), trader, block.timestamp, amountIn, 0, 0)
        );
        vm.stopPrank();
        return amountOut;
    }

    function tickOf(IUniswapV3Pool pool) internal view returns (int24 tick) {
        (, tick,,,,,) = pool.slot0();
    }
}
