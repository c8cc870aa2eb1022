// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IUniswapV3Pool} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";

import {MarketTrader} from "../../src/agents/MarketTrader.sol";
import {PlainDollar} from "../helpers/Dollars.sol";
import {UniswapTest} from "./helpers/UniswapTest.sol";

contract MarketTraderTest is UniswapTest, MarketTrader {
    function setUp() public override {
        deployUniswap();
    }

    /// @dev Compared with the pool's own arithmetic: a thousandth of a tick above the price gives the tick, a
    /// thousandth below gives the previous one. Covers every tick that a token and a stablecoin can have: prices from
    /// 1e-30 to 1e30.
    function testFuzzSqrtPriceAt_agreesWithThePool(int24 tick) public {
        tick = int24(bound(tick, -690_000, 690_000));
        uint256 price = _sqrtPriceAt(tick);
        assertEq(tickAt(price + price / 20_000_000), tick);
        assertEq(tickAt(price - price / 20_000_000), tick - 1);
    }

    function testSqrtPriceAt_tickZeroIsParity() public pure {
        assertEq(_sqrtPriceAt(0), 1 << 96);
    }

    function tickAt(uint256 sqrtPrice) private returns (int24) {
        IUniswapV3Pool market =
            IUniswapV3Pool(uniswapFactory.createPool(address(new PlainDollar(18)), address(new PlainDollar(18)), 3000));
        market.initialize(SafeCast.toUint160(sqrtPrice));
        return tickOf(market);
    }
}
