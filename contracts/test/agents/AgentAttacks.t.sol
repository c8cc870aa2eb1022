// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {IUniswapV3Pool} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";

import {Create3Factory} from "../../src/Create3Factory.sol";
import {InferenceSettlement} from "../../src/InferenceSettlement.sol";
import {TokenMinter} from "../../src/TokenMinter.sol";
import {IAgentFeeConverter} from "../../src/agents/interfaces/IAgentFeeConverter.sol";
import {ITokenMinter} from "../../src/interfaces/ITokenMinter.sol";
import {Chunks} from "../helpers/Chunks.sol";
import {PlainDollar} from "../helpers/Dollars.sol";
import {IUsdc} from "../helpers/IUsdc.sol";
import {AgentsTest} from "./helpers/AgentsTest.sol";
import {FeeToken} from "./helpers/Tokens.sol";

/// @notice Attacks on the agents' contracts, each with its largest gain.
contract AgentAttacksTest is AgentsTest {
    /// @notice In basis points of a price: the slippage of 1 %, and the tick to which the pool rounds its recorded prices.
    uint256 internal constant SLIPPAGE_AND_A_TICK = 9899;

    address internal attacker = makeAddr("attacker");

    /* CAPACITY */

    /// @notice An agent sells its day and lowers its reservation before the settlement: what it served is still paid.
    function testAttack_agentSellsAndThenCutsItsReserve() public {
        back(bob, address(agent), 9e18);
        warpTo(1, 10 hours);
        uint256 day = block.timestamp / 1 days;
        fundToken(alice, 20e6);
        vm.prank(alice);
        settlement.activate(20e6);

        vm.prank(agentOwner);
        agent.setReserve(0);
        vm.prank(bob);
        vault.unback(address(agent), 9e18);
        settle(day, 9e9);
        assertEq(settlement.servedNanoUsd(address(agent), day), 9e9);
        settle(day, 1);
        assertEq(settlement.owedProviderNanoUsd(), 1);

        warpTo(1, 1 hours);
        settle(day + 1, 1);
        assertEq(settlement.owedProviderNanoUsd(), 2);
    }

    /// @notice An agent removes its computer before its uses are posted. They are still paid, as the settlement does not
    /// read computers: the gateway does, when it accepts an offer.
    function testAttack_computerRemovedBeforeTheSettlement() public {
        back(bob, address(agent), 9e18);
        warpTo(1, 10 hours);
        fundToken(alice, 20e6);
        vm.prank(alice);
        settlement.activate(20e6);
        assertEq(registry.computerOf(address(agent)), address(0));
        settle(block.timestamp / 1 days, 9e9);
        assertEq(settlement.servedNanoUsd(address(agent), block.timestamp / 1 days), 9e9);
    }

    /// @notice Identities move stake among each other as fast as they can. Their capacity of a day never exceeds the
    /// stake at its beginning.
    /// forge-config: fast.fuzz.runs = 16
    function testFuzzAttack_stakeHopping(uint256 seed) public {
        staking.mint(attacker, 10e18);
        vm.prank(attacker);
        staking.approve(address(pool), type(uint256).max);
        uint256 stakedAtMidnight;
        uint256[5] memory most;
        for (uint256 i; i < 40; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            hop(seed);
            uint256 sum;
            for (uint256 k; k < 5; ++k) {
                most[k] = Math.max(most[k], pool.capacityToday(identity(k)));
                sum += most[k];
            }
            assertLe(sum * 1e9, stakedAtMidnight);
            (uint256 staked, uint256 today) = (staking.balanceOf(address(pool)), block.timestamp / 1 days);
            vm.warp(block.timestamp + (seed >> 32) % 36 hours);
            if (block.timestamp / 1 days == today) continue;
            (stakedAtMidnight, most) = (staked, [uint256(0), 0, 0, 0, 0]);
        }
    }

    /// @notice Repeated tiny exits to a victim: each exit has its own cooldown, so the victim's exit is not delayed.
    function testAttack_tinyExitsDelayNoOthers() public {
        enter(alice, 5e18);
        enter(attacker, 1e18);
        vm.prank(alice);
        uint256 id = pool.requestExit(alice, 5e18, alice);
        uint256 readyAt = block.timestamp + 1 days;
        for (uint256 i; i < 24; ++i) {
            vm.prank(attacker);
            pool.requestExit(attacker, 1, alice);
            vm.warp(block.timestamp + 1 hours);
        }
        assertEq(block.timestamp, readyAt);
        pool.exit(id);
        assertEq(staking.balanceOf(alice), 5e18);
    }

    /* CONVERSION */

    /// @notice The spot price is moved by a fifth immediately before a conversion: nothing is sold.
    function testAttack_priceMovedInTheSameBlock() public {
        notify(address(agent), staking, 5e18);
        staking.mint(attacker, 500e18);
        trade(attacker, stakingMarket, address(staking), 500e18);
        vm.expectRevert(bytes("SPL"));
        converter.convert(address(agent), address(staking));
        assertEq(converter.pending(address(agent), address(staking)), 1e18);
    }

    /// @notice The best sandwich attack stays within the price limit. The agent gets at least 1 % below the mean price,
    /// less the pool's fee, and the attacker at most that 1 % of the amount sold.
    function testFuzzAttack_sandwichedConversion(uint256 fee, uint256 frontRun) public {
        fee = bound(fee, 1e18, 500e18);
        frontRun = bound(frontRun, 1e15, 16e18);
        notify(address(agent), staking, fee);
        staking.mint(attacker, frontRun);

        uint256 dollars = trade(attacker, stakingMarket, address(staking), frontRun);
        uint256 minted = converter.convert(address(agent), address(staking));
        uint256 after_ = trade(attacker, stakingMarket, address(usdc), dollars);

        uint256 sold = fee / 5 - converter.pending(address(agent), address(staking));
        assertGe(minted, sold * STAKE_PRICE_USD * 9900 / 10_000 * 997 / 1000 / 1e12);
        if (after_ > frontRun) assertLe(after_ - frontRun, sold / 100);
    }

    /// @notice The profit of a sandwich attack: a third of a percent of the capital at risk, on the largest sale within
    /// the limit.
    function testAttack_sandwichEarnsLittle() public {
        notify(address(agent), staking, 500e18);
        staking.mint(attacker, 1e18);
        uint256 dollars = trade(attacker, stakingMarket, address(staking), 1e18);
        converter.convert(address(agent), address(staking));
        uint256 profit = trade(attacker, stakingMarket, address(usdc), dollars) - 1e18;
        assertGt(profit, 0);
        assertLt(profit, 0.004e18);
    }

    /// @notice The market rose by a fifth a minute ago, so its mean price is far below the market. A sandwich attack takes at
    /// most the slippage from the market's own price.
    function testFuzzAttack_sandwichAfterARise(uint256 frontRun, uint32 secondsAgo) public {
        usdc.mint(bob, 96_000e6);
        trade(bob, stakingMarket, address(usdc), 96_000e6);
        vm.warp(block.timestamp + bound(secondsAgo, 1, 10 minutes));
        uint256 price = priceUsdc();
        assertGt(price, STAKE_PRICE_USD * 1.19e6);
        notify(address(agent), staking, 500e18);
        frontRun = bound(frontRun, 1e15, 250e18);
        staking.mint(attacker, frontRun);
        trade(attacker, stakingMarket, address(staking), frontRun);
        try converter.convert(address(agent), address(staking)) returns (uint256 minted) {
            uint256 sold = 100e18 - converter.pending(address(agent), address(staking));
            assertGe(minted, sold * price / 1e18 * SLIPPAGE_AND_A_TICK / 10_000 * 997 / 1000 - 1);
        } catch (bytes memory reason) {
            assertEq(reason, abi.encodeWithSignature("Error(string)", "SPL"));
        }
    }

    /// @notice The deep run found it: the pool's last price was almost a whole tick above its recorded tick.
    function testAttack_sandwichAfterARise_lastTickRoundedDown() public {
        testFuzzAttack_sandwichAfterARise(35976844437904715333112796192672271060, 58501377);
    }

    /// @notice The same for a purchase of a treasury after a fall.
    function testFuzzAttack_sandwichAfterAFall(uint256 frontRun, uint32 secondsAgo) public {
        staking.mint(bob, 400e18);
        trade(bob, stakingMarket, address(staking), 400e18);
        vm.warp(block.timestamp + bound(secondsAgo, 1, 10 minutes));
        uint256 price = priceUsdc();
        assertLt(price, STAKE_PRICE_USD * 0.81e6);
        usdc.mint(address(treasury), 20_000e6);
        frontRun = bound(frontRun, 1e6, 100_000e6);
        usdc.mint(attacker, frontRun);
        trade(attacker, stakingMarket, address(usdc), frontRun);
        try treasury.buy() returns (uint256 bought) {
            uint256 spent = 20_000e6 - usdc.balanceOf(address(treasury));
            assertGe(bought, spent * 1e18 / price * SLIPPAGE_AND_A_TICK / 10_000 * 997 / 1000 - 1e12);
        } catch (bytes memory reason) {
            assertEq(reason, abi.encodeWithSignature("Error(string)", "SPL"));
        }
    }

    /// @notice A price manipulated for a whole block moves the price limit of the next block by three ticks at most.
    function testAttack_priceHeldForOneBlock() public {
        int24 honest = tickOf(stakingMarket);
        staking.mint(attacker, 500e18);
        uint256 dollars = trade(attacker, stakingMarket, address(staking), 500e18);
        vm.warp(block.timestamp + 2);
        trade(attacker, stakingMarket, address(usdc), dollars);
        usdc.mint(attacker, 1e12);
        (, int24 now_,,,,,) = stakingMarket.slot0();
        assertLt(distance(honest, now_), 20); // what the pool's fee left of it

        notify(address(agent), staking, 100_000e18);
        converter.convert(address(agent), address(staking));
        assertLe(distance(honest, tickOf(stakingMarket)), SLIPPAGE_TICKS + 3);
    }

    /// @notice A new market, with a history shorter than the window, has no mean price to rely on.
    function testAttack_marketWithoutHistory() public {
        PlainDollar young = new PlainDollar(18);
        IUniswapV3Pool market = deployMarket(young, 10);
        vm.prank(timelock);
        converter.list(IAgentFeeConverter.Listing(address(young), 3000, WINDOW, SLIPPAGE_TICKS));
        notify(address(agent), young, 5e18);
        vm.expectRevert(bytes("OLD"));
        converter.convert(address(agent), address(young));
        vm.warp(block.timestamp + WINDOW);
        assertGt(converter.convert(address(agent), address(young)), 9e6);
        assertGt(market.liquidity(), 0);
    }

    /// @notice In a market without trades, such as a stock at the weekend, conversions use its last price.
    function testAttack_marketWithoutTrades() public {
        notify(address(agent), stock, 5e18);
        vm.warp(block.timestamp + 5 days);
        assertApproxEqRel(converter.convert(address(agent), address(stock)), STOCK_PRICE_USD * 1e6, 0.004e18);
    }

    /* REWARDS */

    /// @notice Backing a thousandfold immediately before a conversion and leaving immediately after it earns nothing,
    /// at any time of day. Staying over midnight earns in proportion to the time stayed.
    function testFuzzAttack_justInTimeBacking(uint256 time, uint256 stay) public {
        stay = bound(stay, 1, 1 days - 1);
        back(alice, address(agent), 1e18);
        warpTo(1, bound(time, 0, 1 days - 2));
        notifyDollars(address(agent), 1_000e6);
        back(attacker, address(agent), 999e18);
        uint256 toBackers = converter.convert(address(agent), address(usdc)) / 2;
        assertEq(vault.claimable(address(agent), attacker), 0);

        warpTo(1, stay);
        vm.startPrank(attacker);
        vault.unback(address(agent), 999e18);
        assertLe(vault.claim(address(agent)), toBackers * stay / 1 days);
        vm.stopPrank();
        warpTo(2, 0);
        vm.prank(alice);
        assertGe(vault.claim(address(agent)), toBackers * (1 days - stay) / 1 days - 1);
    }

    function testAttack_backAndLeaveAroundOneConversion() public {
        notifyDollars(address(agent), 1_000e6);
        back(alice, address(agent), 1e18);
        back(attacker, address(agent), 999e18);
        converter.convert(address(agent), address(usdc));
        vm.prank(attacker);
        vault.unback(address(agent), 999e18);
        vm.warp(block.timestamp + 3 days);
        vm.prank(attacker);
        assertEq(vault.claim(address(agent)), 0);
        vm.prank(alice);
        assertEq(vault.claim(address(agent)), 100e6);
    }

    /// @notice A backing of almost nothing gets nothing: alone, beside a real backer, and when that backer leaves.
    function testFuzzAttack_dustOfBacking(uint256 dust) public {
        dust = bound(dust, 1, 1e9);
        back(attacker, address(agent), dust);
        notifyDollars(address(agent), 1_000e6);
        converter.convert(address(agent), address(usdc));
        assertEq(token.balanceOf(agentSafe), 200e6);
        warpTo(2, 0);
        assertEq(vault.claimable(address(agent), attacker), 0);

        back(alice, address(agent), 1e18);
        notifyDollars(address(agent), 1_000e6);
        converter.convert(address(agent), address(usdc));
        assertEq(token.balanceOf(agentSafe), 300e6);
        vm.prank(alice);
        vault.unback(address(agent), 1e18);
        assertEq(token.balanceOf(agentSafe), 400e6);
        warpTo(2, 0);
        assertEq(vault.claimable(address(agent), attacker), 0);
    }

    /// @notice One whole unit is a backing.
    function testAttack_oneUnitOfBackingIsReal() public {
        back(attacker, address(agent), 1e18 - 1);
        back(attacker, address(agent), 1);
        notifyDollars(address(agent), 1_000e6);
        converter.convert(address(agent), address(usdc));
        warpTo(2, 0);
        vm.prank(attacker);
        assertEq(vault.claim(address(agent)), 100e6);
    }

    /// @notice Many small conversions do not delay the drip of a large one.
    function testAttack_dustConversionsDelayNothing() public {
        back(alice, address(agent), 1e18);
        notifyDollars(address(agent), 1_000e6);
        converter.convert(address(agent), address(usdc));
        warpTo(1, 0);
        for (uint256 i; i < 24; ++i) {
            notifyDollars(address(agent), 10);
            converter.convert(address(agent), address(usdc));
            vm.warp(block.timestamp + 1 hours);
        }
        assertGe(vault.claimable(address(agent), alice), 100e6);
    }

    /* DOLLARS */

    /// @notice The stablecoin's issuer blocks the agent's Safe. Its tokens still arrive, what the settlement owes it
    /// waits, and the Safe names its successor.
    function testAttack_blocklistedSafe() public {
        back(bob, address(agent), 9e18);
        warpTo(1, 1 hours);
        fundToken(alice, 20e6);
        vm.prank(alice);
        settlement.activate(20e6);
        usdc.blacklist(agentSafe);

        notifyDollars(address(agent), 10e6);
        converter.convert(address(agent), address(usdc));
        assertEq(token.balanceOf(agentSafe), 1e6);

        settle(block.timestamp / 1 days, 5e9);
        vm.expectRevert("Blacklistable: account is blacklisted");
        settlement.paySafe(address(agent));
        settlement.payTreasury(address(agent));
        assertGt(treasury.buy(), 0);

        address newSafe = makeAddr("newSafe");
        safeCall(
            agentSafe, agentOwnerKey, address(registry), abi.encodeCall(registry.replaceSafe, (address(agent), newSafe))
        );
        settlement.paySafe(address(agent));
        assertEq(usdc.balanceOf(newSafe), 2e6);
    }

    /// @notice The stablecoin's issuer blocks the minter or the converter, or pauses the stablecoin. Fees already taken
    /// stay booked, and backers can withdraw and claim.
    function testAttack_blockedOrStoppedDollar() public {
        back(alice, address(agent), 1e18);
        notifyDollars(address(agent), 10e6);
        notify(address(agent), staking, 5e18);
        uint256 open = vm.snapshotState();
        for (uint256 i; i < 3; ++i) {
            if (i == 0) usdc.blacklist(address(minter));
            if (i == 1) usdc.blacklist(address(converter));
            if (i == 2) usdc.pause();
            vm.expectRevert();
            converter.convert(address(agent), address(usdc));
            vm.expectRevert();
            converter.convert(address(agent), address(staking));
            assertEq(converter.pending(address(agent), address(usdc)), 2e6);
            assertEq(converter.pending(address(agent), address(staking)), 1e18);
            vm.startPrank(alice);
            vault.claim(address(agent));
            vault.unback(address(agent), 1e18);
            vm.stopPrank();
            vm.revertToState(open);
        }
    }

    /// @notice A stablecoin with a transfer fee is rejected by the converter and by the minter.
    function testAttack_dollarThatTakesAFee() public {
        FeeToken taxed = new FeeToken();
        redeployWith(taxed);
        taxed.takeFees();
        taxed.mint(hook, 50);
        vm.startPrank(hook);
        taxed.approve(address(converter), 50);
        vm.expectRevert(abi.encodeWithSelector(IAgentFeeConverter.WrongAmountReceived.selector, 10, 9));
        converter.notifyFee(address(agent), address(usdc), 50);
        vm.stopPrank();
        notify(address(agent), staking, 5e18);
        vm.expectPartialRevert(ITokenMinter.WrongAmountReceived.selector);
        converter.convert(address(agent), address(staking));
    }

    /* HELPERS */

    /// @dev What the market pays for a staking-derived token, in units of the stablecoin.
    function priceUsdc() private view returns (uint256) {
        (uint160 root,,,,,,) = stakingMarket.slot0();
        return stakingMarket.token0() == address(staking)
            ? Math.mulDiv(Math.mulDiv(root, root, 1 << 96), 1e18, 1 << 96)
            : Math.mulDiv(Math.mulDiv(1e18, 1 << 96, root), 1 << 96, root);
    }

    /// @dev Deploys the same system with another stablecoin.
    function redeployWith(PlainDollar dollar) private {
        factory = new Create3Factory(address(this));
        usdc = IUsdc(address(dollar));
        deployPrimary(type(TokenMinter).creationCode, type(InferenceSettlement).creationCode);
        deployMarkets();
        deployAgents();
        agent = createAgent(agentOwner);
        vm.warp(block.timestamp + 1 hours);
    }

    /// @dev Pays every exit that is ready, then enters or exits some stake.
    function hop(uint256 seed) private {
        uint256 amount = seed >> 16;
        vm.startPrank(attacker);
        for (uint256 id = 1; id <= 40; ++id) {
            (, uint64 readyAt, uint256 due) = pool.exits(id);
            if (due != 0 && readyAt <= block.timestamp) pool.exit(id);
        }
        address to = identity((seed >> 8) % 5);
        uint256 held = staking.balanceOf(attacker);
        uint256 staked = pool.stakeOf(attacker, to);
        if (seed % 2 == 0 && held != 0) pool.enterUnder(to, 1 + amount % held);
        else if (staked != 0) pool.requestExit(to, 1 + amount % staked, attacker);
        vm.stopPrank();
    }

    function identity(uint256 index) private view returns (address) {
        return [alice, bob, attacker, address(agent), hook][index];
    }

    /// @dev Settles that alice used `amountNanoUsd` of what the agent sold on `day`.
    function settle(uint256 day, uint256 amountNanoUsd) private {
        (, uint256 debited,) = settlement.accountOf(alice);
        bytes memory data = Chunks.serve(address(agent), day, alice, debited, amountNanoUsd);
        vm.prank(settler);
        settlement.settle(uint32(block.timestamp / 1 days), data);
    }

    function distance(int24 a, int24 b) private pure returns (uint256) {
        return uint256(int256(a > b ? a - b : b - a));
    }
}
