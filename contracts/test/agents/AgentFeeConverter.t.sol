// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";

import {MarketTrader} from "../../src/agents/MarketTrader.sol";
import {IAgentFeeConverter} from "../../src/agents/interfaces/IAgentFeeConverter.sol";
import {IMarkets} from "../../src/agents/interfaces/IMarkets.sol";
import {PlainDollar} from "../helpers/Dollars.sol";
import {AgentsTest} from "./helpers/AgentsTest.sol";
import {FeeToken, ReentrantToken} from "./helpers/Tokens.sol";

contract AgentFeeConverterTest is AgentsTest {
    function testConstructor_wires() public view {
        assertEq(address(converter.REGISTRY()), address(registry));
        assertEq(address(converter.VAULT()), address(vault));
        assertEq(address(converter.MINTER()), address(minter));
        assertEq(address(converter.STABLECOIN()), address(usdc));
        assertEq(address(converter.UNISWAP_FACTORY()), address(uniswapFactory));
        assertEq(converter.TIMELOCK(), timelock);
        assertEq(address(converter.marketOf(address(staking)).pool), address(stakingMarket));
    }

    /* NOTIFY */

    function testFuzzNotifyFee_takesAFifthRoundedDown(uint128 fee) public {
        uint256 share = uint256(fee) / 5;
        assertEq(notify(address(agent), staking, fee), share);
        assertEq(converter.pending(address(agent), address(staking)), share);
        assertEq(staking.balanceOf(address(converter)), share);
        assertEq(staking.balanceOf(hook), fee - share);
    }

    function testNotifyFee_announcesAndAdds() public {
        notify(address(agent), stock, 5e18);
        stock.mint(hook, 10e18);
        vm.startPrank(hook);
        stock.approve(address(converter), 2e18);
        vm.expectEmit(address(converter));
        emit IAgentFeeConverter.FeeTaken(address(agent), address(stock), hook, 2e18, 3e18);
        converter.notifyFee(address(agent), address(stock), 10e18);
    }

    function testNotifyFee_dollarsNeedNoListing() public {
        assertEq(notifyDollars(address(agent), 10e6), 2e6);
        assertEq(converter.pending(address(agent), address(usdc)), 2e6);
    }

    /// @dev Takes nothing and does not revert, for any amount and without an allowance.
    function testFuzzNotifyFee_ignoredFeesTakeNothing(uint256 fee) public {
        PlainDollar unlisted = new PlainDollar(18);
        vm.startPrank(hook);
        assertEq(converter.notifyFee(address(agent), address(agent), fee), 0, "its own");
        assertEq(converter.notifyFee(address(agent), address(unlisted), fee), 0, "unlisted");
        assertEq(converter.notifyFee(address(agent), makeAddr("no token"), fee), 0, "no token");
        assertEq(converter.notifyFee(bob, address(staking), fee), 0, "no agent");
    }

    /// @dev Even if the timelock listed an agent's own token by mistake.
    function testNotifyFee_ownTokenTakesNothingEvenIfListed() public {
        PlainDollar own = PlainDollar(address(agent));
        createPool(address(own), address(usdc), 3000, 1e18, 1e6);
        vm.prank(timelock);
        converter.list(IAgentFeeConverter.Listing(address(own), 3000, WINDOW, SLIPPAGE_TICKS));
        assertEq(converter.notifyFee(address(agent), address(own), 1e18), 0);
    }

    function testNotifyFee_tooSmallToShare() public {
        assertEq(notify(address(agent), staking, 4), 0);
        assertEq(converter.pending(address(agent), address(staking)), 0);
    }

    function testNotifyFee_payerWithoutAllowance() public {
        vm.expectRevert(
            abi.encodeWithSelector(IERC20Errors.ERC20InsufficientAllowance.selector, address(converter), 0, 2e17)
        );
        vm.prank(hook);
        converter.notifyFee(address(agent), address(staking), 1e18);
    }

    function testNotifyFee_tokenThatDeliversLess() public {
        FeeToken taxed = new FeeToken();
        listNew(taxed);
        taxed.takeFees();
        taxed.mint(hook, 50);
        vm.startPrank(hook);
        taxed.approve(address(converter), 50);
        vm.expectRevert(abi.encodeWithSelector(IAgentFeeConverter.WrongAmountReceived.selector, 10, 9));
        converter.notifyFee(address(agent), address(taxed), 50);
    }

    /* CONVERT */

    function testConvert_swapsMintsAndDivides() public {
        back(alice, address(agent), 1e18);
        notify(address(agent), staking, 5e18);
        uint256 inMarket = usdc.balanceOf(address(stakingMarket));
        uint256 backing = minter.backing();
        uint256 minted = converter.convert(address(agent), address(staking));

        assertApproxEqRel(minted, STAKE_PRICE_USD * 1e6, 0.004e18); // the pool's fee, and the price that it moved
        assertEq(minted, inMarket - usdc.balanceOf(address(stakingMarket)));
        assertEq(minter.backing(), backing + minted);
        assertEq(token.balanceOf(agentSafe), minted - minted / 2);
        assertEq(token.balanceOf(address(vault)), minted / 2);
        assertEq(vault.undripped(address(agent)), minted / 2);
        assertEq(converter.pending(address(agent), address(staking)), 0);
        assertEq(staking.balanceOf(address(converter)), 0);
        assertEq(usdc.balanceOf(address(converter)), 0);
        assertEq(token.balanceOf(address(converter)), 0);
    }

    function testConvert_announces() public {
        notifyDollars(address(agent), 10e6);
        vm.expectEmit(address(converter));
        emit IAgentFeeConverter.Converted(address(agent), address(usdc), 0, 0, 2e6);
        converter.convert(address(agent), address(usdc));
    }

    function testConvert_allToTheSafeWithoutBackers() public {
        notify(address(agent), stock, 5e18);
        uint256 minted = converter.convert(address(agent), address(stock));
        assertEq(token.balanceOf(agentSafe), minted);
        assertEq(token.balanceOf(address(vault)), 0);
    }

    /// @dev Half goes to the backers; the Safe gets the other half and the odd unit.
    function testFuzzConvert_dollarsSplitToTheUnit(uint64 fee, bool isBacked) public {
        uint256 dollars = bound(fee, 5, type(uint64).max) / 5;
        if (isBacked) back(alice, address(agent), 1e18);
        notifyDollars(address(agent), dollars * 5);
        assertEq(converter.convert(address(agent), address(usdc)), dollars);
        uint256 toBackers = isBacked ? dollars / 2 : 0;
        assertEq(token.balanceOf(agentSafe), dollars - toBackers);
        assertEq(vault.undripped(address(agent)), toBackers);
    }

    /// @dev The fees of one agent never go to another.
    function testConvert_ofOneAgentOnly() public {
        address second = address(createAgent(bob));
        notify(address(agent), staking, 5e18);
        notify(second, staking, 10e18);
        converter.convert(second, address(staking));
        assertEq(converter.pending(address(agent), address(staking)), 1e18);
        assertEq(token.balanceOf(agentSafe), 0);
    }

    /// @dev More than the market can take within the price limit: a part is sold, and the rest waits until the price
    /// recovers.
    function testConvert_remainderBeyondTheLimitWaits() public {
        int24 before = tickOf(stakingMarket);
        notify(address(agent), staking, 1_000e18); // 200 to sell: 60,000 dollars, of a million
        uint256 minted = converter.convert(address(agent), address(staking));
        uint256 rest = converter.pending(address(agent), address(staking));
        assertGt(rest, 0);
        assertLt(rest, 200e18);
        assertApproxEqAbs(distance(before, tickOf(stakingMarket)), SLIPPAGE_TICKS, 1);
        uint256 sold = 200e18 - rest;
        assertGt(minted, sold * STAKE_PRICE_USD * 98 / 100 / 1e12);

        vm.expectRevert(bytes("SPL"));
        converter.convert(address(agent), address(staking));

        trade(buyerWith(minted), stakingMarket, address(usdc), minted);
        converter.convert(address(agent), address(staking));
        assertLt(converter.pending(address(agent), address(staking)), rest);
    }

    function testConvert_nothingBooked() public {
        vm.expectRevert(IAgentFeeConverter.NothingToConvert.selector);
        converter.convert(address(agent), address(staking));
        vm.expectRevert(IAgentFeeConverter.NothingToConvert.selector);
        converter.convert(address(agent), address(usdc));
    }

    /// @dev A sale for less than one token unit reverts, so fees cannot be drained by many tiny conversions.
    function testConvert_lessThanAUnitStaysBooked() public {
        notify(address(agent), staking, 5e9);
        vm.expectRevert(IAgentFeeConverter.NothingToConvert.selector);
        converter.convert(address(agent), address(staking));
        assertEq(converter.pending(address(agent), address(staking)), 1e9);
    }

    function testConvert_notListed() public {
        vm.expectRevert(abi.encodeWithSelector(IMarkets.NotListed.selector, bob));
        converter.convert(address(agent), bob);
    }

    /// @dev Shares that were taken before the token was unlisted are sold on its last market.
    function testConvert_afterTheTokenWasUnlisted() public {
        notify(address(agent), staking, 5e18);
        vm.prank(timelock);
        converter.unlist(address(staking));
        assertEq(notify(address(agent), staking, 5e18), 0);
        assertEq(address(converter.marketOf(address(staking)).pool), address(0));
        assertGt(converter.convert(address(agent), address(staking)), 0);
        assertEq(converter.pending(address(agent), address(staking)), 0);
        vm.expectRevert(IAgentFeeConverter.NothingToConvert.selector);
        converter.convert(address(agent), address(staking));
    }

    /* MARKETS */

    function testFuzzList_timelockOnly(address caller) public {
        vm.assume(caller != timelock);
        vm.startPrank(caller);
        vm.expectRevert(IAgentFeeConverter.OnlyTimelock.selector);
        converter.list(firstListings()[0]);
        vm.expectRevert(IAgentFeeConverter.OnlyTimelock.selector);
        converter.unlist(address(staking));
    }

    function testFuzzList_withinBounds(uint32 window, uint24 slippageTicks) public {
        bool fits = window >= 600 && window <= 86_400 && slippageTicks >= 1 && slippageTicks <= 500;
        vm.prank(timelock);
        if (!fits) {
            vm.expectRevert(
                abi.encodeWithSelector(IAgentFeeConverter.MarketOutOfBounds.selector, window, slippageTicks)
            );
        }
        converter.list(IAgentFeeConverter.Listing(address(stock), 3000, window, slippageTicks));
        if (fits) assertEq(converter.marketOf(address(stock)).window, window);
    }

    /// @dev Exactly at the bounds, which random values miss.
    function testList_atTheBounds() public {
        vm.startPrank(timelock);
        vm.expectEmit(address(converter));
        emit IAgentFeeConverter.MarketChanged(address(stock), address(stockMarket), 10 minutes, 1);
        converter.list(IAgentFeeConverter.Listing(address(stock), 3000, 10 minutes, 1));
        converter.list(IAgentFeeConverter.Listing(address(stock), 3000, 1 days, 500));
        vm.expectPartialRevert(IAgentFeeConverter.MarketOutOfBounds.selector);
        converter.list(IAgentFeeConverter.Listing(address(stock), 3000, 10 minutes - 1, 1));
        vm.expectPartialRevert(IAgentFeeConverter.MarketOutOfBounds.selector);
        converter.list(IAgentFeeConverter.Listing(address(stock), 3000, 1 days + 1, 1));
        vm.expectPartialRevert(IAgentFeeConverter.MarketOutOfBounds.selector);
        converter.list(IAgentFeeConverter.Listing(address(stock), 3000, 1 days, 0));
        vm.expectPartialRevert(IAgentFeeConverter.MarketOutOfBounds.selector);
        converter.list(IAgentFeeConverter.Listing(address(stock), 3000, 1 days, 501));
    }

    function testList_noSuchPool() public {
        vm.startPrank(timelock);
        vm.expectRevert(abi.encodeWithSelector(IAgentFeeConverter.NoPool.selector, stock, 500));
        converter.list(IAgentFeeConverter.Listing(address(stock), 500, WINDOW, SLIPPAGE_TICKS));
        vm.expectRevert(abi.encodeWithSelector(IAgentFeeConverter.NoPool.selector, usdc, 3000));
        converter.list(IAgentFeeConverter.Listing(address(usdc), 3000, WINDOW, SLIPPAGE_TICKS));
    }

    function testUnlist_announces() public {
        vm.startPrank(timelock);
        vm.expectEmit(address(converter));
        emit IAgentFeeConverter.MarketChanged(address(stock), address(0), 0, 0);
        converter.unlist(address(stock));
        vm.expectRevert(abi.encodeWithSelector(IMarkets.NotListed.selector, stock));
        converter.unlist(address(stock));
    }

    /* REENTRANCY */

    function testReenter_feeTokenIntoTheConverter() public {
        ReentrantToken evil = new ReentrantToken();
        listNew(evil);
        evil.mint(hook, 10);
        vm.startPrank(hook);
        evil.approve(address(converter), 10);
        evil.setReentry(address(converter), abi.encodeCall(converter.notifyFee, (address(agent), address(evil), 10)));
        vm.expectRevert(bytes4(keccak256("ReentrancyGuardReentrantCall()")));
        converter.notifyFee(address(agent), address(evil), 10);
        evil.setReentry(address(converter), abi.encodeCall(converter.convert, (address(agent), address(usdc))));
        vm.expectRevert(bytes4(keccak256("ReentrancyGuardReentrantCall()")));
        converter.notifyFee(address(agent), address(evil), 10);
    }

    /// @dev The callback pays only the pool of the current swap.
    function testFuzzUniswapV3SwapCallback_poolOnly(address caller) public {
        vm.assume(caller != address(0));
        notify(address(agent), staking, 5e18);
        vm.expectRevert(MarketTrader.OnlyPool.selector);
        vm.prank(caller);
        converter.uniswapV3SwapCallback(1e18, 0, abi.encode(staking));
        vm.expectRevert(MarketTrader.OnlyPool.selector);
        vm.prank(address(stakingMarket));
        converter.uniswapV3SwapCallback(1e18, 0, abi.encode(staking));
    }

    function listNew(PlainDollar feeToken) private {
        createPool(address(feeToken), address(usdc), 3000, 1e18, 1e6);
        vm.prank(timelock);
        converter.list(IAgentFeeConverter.Listing(address(feeToken), 3000, WINDOW, SLIPPAGE_TICKS));
    }

    function buyerWith(uint256 dollars) private returns (address) {
        usdc.mint(bob, dollars);
        return bob;
    }

    function distance(int24 a, int24 b) private pure returns (uint256) {
        return uint256(int256(a > b ? a - b : b - a));
    }
}
