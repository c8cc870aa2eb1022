// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {SignedMath} from "@openzeppelin/contracts/utils/math/SignedMath.sol";
import {IUniswapV3SwapCallback} from "@uniswap/v3-core/contracts/interfaces/callback/IUniswapV3SwapCallback.sol";
import {FixedPointMathLib} from "solady/utils/FixedPointMathLib.sol";

import {IMarkets} from "./interfaces/IMarkets.sol";

/// @title MarketTrader
/// @notice Swaps on a market within a price limit. See {IMarkets}.
/// @dev The limit is passed to the pool as the price at which the swap stops. It applies to every unit swapped and
/// needs no estimate of the output. If liquidity is insufficient, the swap is partial, so the caller need not choose an
/// amount.
abstract contract MarketTrader is IUniswapV3SwapCallback {
    using SafeCast for int256;
    using SafeCast for uint256;
    using SafeERC20 for IERC20;

    /// @dev ln(1.0001) / 2, with 36 decimals: the change per tick of the logarithm of the square root of the price.
    uint256 private constant LN_TICK_STEP = 49997500166654167666583340475566;

    /// @dev The pool that may request payment during a swap.
    address private transient _pool;

    /// @notice The caller is not the pool of the current swap.
    error OnlyPool();

    /// @notice Pays the pool for the current swap of this contract.
    function uniswapV3SwapCallback(int256 amount0Delta, int256 amount1Delta, bytes calldata tokenIn) external {
        require(msg.sender == _pool, OnlyPool());
        uint256 due = (amount0Delta > 0 ? amount0Delta : amount1Delta).toUint256();
        abi.decode(tokenIn, (IERC20)).safeTransfer(msg.sender, due);
    }

    /// @dev Swaps at most `amountIn`, up to the price limit of the market.
    function _exchange(IMarkets.Market memory market, address tokenIn, address tokenOut, uint256 amountIn)
        internal
        returns (uint256 sold, uint256 bought)
    {
        bool zeroForOne = tokenIn < tokenOut;
        _pool = address(market.pool);
        (int256 delta0, int256 delta1) = market.pool
            .swap(address(this), zeroForOne, amountIn.toInt256(), _worstPrice(market, zeroForOne), abi.encode(tokenIn));
        _pool = address(0);
        return zeroForOne ? (delta0.toUint256(), (-delta1).toUint256()) : (delta1.toUint256(), (-delta0).toUint256());
    }

    /// @dev The better, for this contract, of the mean price of the window and the price a second ago, made worse by the
    /// slippage, in the format of the pool: a square root with 96 fractional bits. The mean alone lags behind a market
    /// that moved, and everything between the two could be taken by trades around the swap. No trade of this block
    /// changes either price, and one of an earlier block can only make the limit stricter than the mean's. Reverts with
    /// `OLD` if the pool's price history is shorter than the window.
    function _worstPrice(IMarkets.Market memory market, bool zeroForOne) private view returns (uint160) {
        uint32[] memory secondsAgo = new uint32[](3);
        (secondsAgo[0], secondsAgo[1]) = (market.window, 1);
        (int56[] memory cumulative,) = market.pool.observe(secondsAgo);
        int256 meanTick = (cumulative[2] - cumulative[0]) / int256(uint256(market.window));
        int256 lastTick = cumulative[2] - cumulative[1];
        int256 slippage = int256(uint256(market.slippageTicks));
        return _sqrtPriceAt(
            zeroForOne ? SignedMath.max(meanTick, lastTick) - slippage : SignedMath.min(meanTick, lastTick) + slippage
        );
    }

    /// @dev 1.0001^(tick / 2) x 2^96, with an error below a thousandth of a tick.
    function _sqrtPriceAt(int256 tick) internal pure returns (uint160) {
        int256 exponent = (SignedMath.abs(tick) * LN_TICK_STEP / 1e18).toInt256();
        uint256 root = FixedPointMathLib.expWad(exponent).toUint256();
        uint256 price = tick < 0 ? (1e18 << 96) / root : (root << 96) / 1e18;
        return price.toUint160();
    }
}
