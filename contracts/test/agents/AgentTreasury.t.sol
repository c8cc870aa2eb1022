// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IAgentTreasury} from "../../src/agents/interfaces/IAgentTreasury.sol";
import {IMarkets} from "../../src/agents/interfaces/IMarkets.sol";
import {MarketTrader} from "../../src/agents/MarketTrader.sol";
import {AgentsTest} from "./helpers/AgentsTest.sol";

contract AgentTreasuryTest is AgentsTest {
    function testConstructor_wires() public view {
        assertEq(treasury.AGENT(), address(agent));
        assertEq(address(treasury.STABLECOIN()), address(usdc));
        assertEq(address(treasury.STAKING_TOKEN()), address(staking));
        assertEq(address(treasury.POOL()), address(pool));
        assertEq(address(treasury.MARKETS()), address(converter));
    }

    function testBuy_stakesUnderTheAgentPermanently() public {
        usdc.mint(address(treasury), STAKE_PRICE_USD * 1e6);
        vm.prank(bob);
        uint256 entered = treasury.buy();
        assertApproxEqRel(entered, 1e18, 0.004e18);
        assertEq(usdc.balanceOf(address(treasury)), 0);
        assertEq(staking.balanceOf(address(treasury)), 0);
        assertEq(pool.stakeOf(address(agent), address(agent)), entered);
        assertEq(pool.totalStakeOf(address(agent)), entered);
        warpTo(1, 0);
        assertEq(pool.capacityToday(address(agent)), entered / 1e9);
    }

    /// @dev A random call by anyone to any other function than {buy} moves nothing.
    function testFuzzBuy_isTheOnlyWay(address caller, bytes4 selector, bytes32 a, bytes32 b, bytes32 c) public {
        vm.assume(selector != treasury.buy.selector);
        usdc.mint(address(treasury), 5e6);
        staking.mint(address(treasury), 5e18);
        vm.prank(caller);
        (bool ok,) = address(treasury).call(abi.encodePacked(selector, a, b, c));
        ok;
        assertEq(usdc.balanceOf(address(treasury)), 5e6);
        assertEq(staking.balanceOf(address(treasury)), 5e18);
        assertEq(usdc.allowance(address(treasury), caller), 0);
    }

    /// @dev Staking-derived tokens that were sent by a plain transfer are staked too, without dollars or a market.
    function testBuy_stakesItsBalance() public {
        staking.mint(address(treasury), 2e18);
        vm.prank(timelock);
        converter.unlist(address(staking));
        vm.expectEmit(address(treasury));
        emit IAgentTreasury.Bought(0, 0, 2e18);
        assertEq(treasury.buy(), 2e18);
    }

    /// @dev Dollars that have no market do not keep the units from being staked.
    function testBuy_dollarsWithoutAMarketWait() public {
        staking.mint(address(treasury), 2e18);
        usdc.mint(address(treasury), 1);
        vm.prank(timelock);
        converter.unlist(address(staking));
        vm.expectEmit(address(treasury));
        emit IAgentTreasury.Bought(0, 0, 2e18);
        assertEq(treasury.buy(), 2e18);
        assertEq(usdc.balanceOf(address(treasury)), 1);
    }

    function testBuy_nothingToStake() public {
        vm.expectRevert(IAgentTreasury.NothingToEnter.selector);
        treasury.buy();
    }

    function testBuy_notListed() public {
        usdc.mint(address(treasury), 1e6);
        vm.prank(timelock);
        converter.unlist(address(staking));
        vm.expectRevert(abi.encodeWithSelector(IMarkets.NotListed.selector, staking));
        treasury.buy();
        assertEq(usdc.balanceOf(address(treasury)), 1e6);
    }

    /// @dev More dollars than the market can take within the price limit: a part is spent, and the rest waits.
    function testBuy_remainderBeyondTheLimitWaits() public {
        usdc.mint(address(treasury), 100_000e6);
        uint256 entered = treasury.buy();
        uint256 rest = usdc.balanceOf(address(treasury));
        assertGt(rest, 0);
        assertGt(entered, (100_000e6 - rest) * 1e12 * 98 / 100 / STAKE_PRICE_USD);
        vm.expectRevert(bytes("SPL"));
        treasury.buy();
    }

    function testBuy_priceMovedInTheSameBlock() public {
        usdc.mint(address(treasury), 1_000e6);
        usdc.mint(bob, 20_000e6);
        trade(bob, stakingMarket, address(usdc), 20_000e6);
        vm.expectRevert(bytes("SPL"));
        treasury.buy();
    }

    function testFuzzUniswapV3SwapCallback_poolOnly(address caller) public {
        vm.assume(caller != address(0));
        usdc.mint(address(treasury), 1e6);
        vm.expectRevert(MarketTrader.OnlyPool.selector);
        vm.prank(caller);
        treasury.uniswapV3SwapCallback(1e6, 0, abi.encode(usdc));
    }
}
