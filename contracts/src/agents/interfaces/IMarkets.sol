// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IUniswapV3Pool} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";

/// @title IMarkets
/// @notice The markets on which tokens are swapped for the stablecoin, with a price limit for each.
interface IMarkets {
    /// @notice A Uniswap v3 pool of a token and the stablecoin. No unit is swapped at a price that is more than
    /// `slippageTicks` (of 0.01 % each) worse than the pool's mean price over the last `window` seconds, nor than its
    /// price before this block, before the pool's own fee. The part that would need a worse price is not swapped.
    struct Market {
        IUniswapV3Pool pool;
        uint32 window;
        uint24 slippageTicks;
    }

    /// @notice The token has no listed market.
    error NotListed(address token);

    /// @notice The market of `token`; its pool is `address(0)` if `token` is not listed.
    function marketOf(address token) external view returns (Market memory);
}
