// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IUniswapV3Pool} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";

import {UniswapTest} from "./helpers/UniswapTest.sol";

/// @notice The market of token and stablecoin as documented: Uniswap's 0.05 % tier, initialized at par, with liquidity
/// over all prices.
contract TokenMarketTest is UniswapTest {
    IUniswapV3Pool internal market;

    function setUp() public override {
        super.setUp();
        deployUniswap();
        market = createPool(address(token), address(usdc), 500, 1e6, 1e6);
        market.increaseObservationCardinalityNext(64);
        fundToken(address(this), 10_000e6);
        usdc.mint(address(this), 10_000e6);
        addLiquidity(market, 10_000e6, 10_000e6, -MAX_TICK, MAX_TICK);
    }

    function testSeed_usesBothSidesFullyAtPar() public view {
        (uint160 sqrtPrice, int24 tick,,,,,) = market.slot0();
        assertEq(sqrtPrice, 1 << 96);
        assertEq(tick, 0);
        assertEq(market.tickSpacing(), 10);
        assertApproxEqAbs(token.balanceOf(address(market)), 10_000e6, 1);
        assertApproxEqAbs(usdc.balanceOf(address(market)), 10_000e6, 1);
    }

    /// @dev When holders sell below par, the market is cheaper than minting: a dollar buys more than one token, and the
    /// tokens can be activated.
    function testTrade_belowParTheMarketIsCheaperThanMinting() public {
        fundToken(alice, 500e6);
        trade(alice, market, address(token), 500e6);
        usdc.mint(bob, 100e6);
        uint256 bought = trade(bob, market, address(usdc), 100e6);
        assertGt(bought, 108e6);
        vm.prank(bob);
        settlement.activate(bought);
        assertEq(settlement.creditNanoUsd(bob), bought * 1000);
    }

    /// @dev Minting at par and selling brings a price above par back down.
    function testTrade_aboveParMintingRestoresPar() public {
        usdc.mint(alice, 500e6);
        trade(alice, market, address(usdc), 500e6);
        fundToken(bob, 400e6);
        assertGt(trade(bob, market, address(token), 400e6), 405e6);
        usdc.mint(bob, 10e6);
        assertLt(trade(bob, market, address(usdc), 10e6), 10e6);
    }
}
