// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Vm} from "forge-std/Vm.sol";

import {BackerVault} from "../../src/agents/BackerVault.sol";
import {IBackerVault} from "../../src/agents/interfaces/IBackerVault.sol";
import {IInferenceStaking} from "../../src/agents/interfaces/IInferenceStaking.sol";
import {AgentsTest} from "./helpers/AgentsTest.sol";
import {FeeToken} from "./helpers/Tokens.sol";

contract BackerVaultTest is AgentsTest {
    address internal id;

    function setUp() public override {
        super.setUp();
        id = address(agent);
    }

    function testConstructor_wires() public view {
        assertEq(address(vault.TOKEN()), address(token));
        assertEq(address(vault.STAKING_TOKEN()), address(staking));
        assertEq(address(vault.POOL()), address(pool));
        assertEq(address(vault.REGISTRY()), address(registry));
        assertEq(vault.CONVERTER(), address(converter));
    }

    /* BACKING */

    function testFuzzBack_stakesUnderTheAgent(uint128 first, uint128 second) public {
        (first, second) = (uint128(bound(first, 1, 1e30)), uint128(bound(second, 1, 1e30)));
        back(alice, id, first);
        staking.mint(bob, second);
        vm.startPrank(bob);
        staking.approve(address(vault), second);
        vm.expectEmit(address(vault));
        emit IBackerVault.Backed(id, bob, second, uint256(first) + second);
        vault.back(id, second);
        assertEq(vault.backingOf(id, alice), first);
        assertEq(vault.backingOf(id, bob), second);
        assertEq(vault.totalBacking(id), uint256(first) + second);
        assertEq(pool.stakeOf(address(vault), id), uint256(first) + second);
        warpTo(1, 0);
        assertEq(pool.capacityToday(id), (uint256(first) + second) / 1e9);
    }

    function testBack_refused() public {
        vm.startPrank(alice);
        vm.expectRevert(IBackerVault.ZeroAmount.selector);
        vault.back(id, 0);
        vm.expectRevert(abi.encodeWithSelector(IBackerVault.UnknownAgent.selector, bob));
        vault.back(bob, 1);
    }

    function testBack_tokenThatDeliversLess() public {
        FeeToken taxed = new FeeToken();
        BackerVault other = new BackerVault(token, taxed, IInferenceStaking(address(0)), registry, address(converter));
        taxed.mint(alice, 10);
        taxed.takeFees();
        vm.startPrank(alice);
        taxed.approve(address(other), 10);
        vm.expectRevert(abi.encodeWithSelector(IBackerVault.WrongAmountReceived.selector, 10, 9));
        other.back(id, 10);
    }

    function testFuzzUnback_givesBackAfterADay(uint128 backed, uint128 out) public {
        backed = uint128(bound(backed, 1, type(uint128).max));
        out = uint128(bound(out, 1, backed));
        back(alice, id, backed);
        vm.expectEmit(address(vault));
        emit IBackerVault.Unbacked(id, alice, out, backed - out);
        vm.prank(alice);
        vault.unback(id, out);
        assertEq(vault.backingOf(id, alice), backed - out);
        assertEq(pool.totalStakeOf(id), backed - out);
        vm.warp(block.timestamp + 1 days);
        pool.exit(1);
        assertEq(staking.balanceOf(alice), out);
    }

    function testUnback_refused() public {
        back(alice, id, 5);
        vm.startPrank(alice);
        vm.expectRevert(IBackerVault.ZeroAmount.selector);
        vault.unback(id, 0);
        vm.expectRevert(abi.encodeWithSelector(IBackerVault.InsufficientBacking.selector, 6, 5));
        vault.unback(id, 6);
        vm.startPrank(bob);
        vm.expectRevert(abi.encodeWithSelector(IBackerVault.InsufficientBacking.selector, 1, 0));
        vault.unback(id, 1);
    }

    /// @dev Off the primary chain the vault holds the backing and returns it at once.
    function testUnback_immediateOffThePrimaryChain() public {
        BackerVault other = new BackerVault(token, staking, IInferenceStaking(address(0)), registry, address(converter));
        staking.mint(alice, 5e18);
        vm.startPrank(alice);
        staking.approve(address(other), 5e18);
        other.back(id, 5e18);
        assertEq(staking.balanceOf(address(other)), 5e18);
        other.unback(id, 2e18);
        assertEq(staking.balanceOf(alice), 2e18);
        assertEq(other.backingOf(id, alice), 3e18);
    }

    /* REWARDS */

    function testFuzzReward_converterOnly(address caller) public {
        expectOnly(caller, address(converter), IBackerVault.OnlyConverter.selector);
        vault.reward(id, 1);
    }

    function testReward_announces() public {
        back(alice, id, 1e18);
        notifyDollars(id, 35);
        vm.expectEmit(address(vault));
        emit IBackerVault.Rewarded(id, 7, 3);
        converter.convert(id, address(usdc));
        assertEq(token.balanceOf(agentSafe), 4);
    }

    /// @dev Nothing on the day of receipt, all of it linearly over the next day, nothing afterwards.
    function testFuzzClaim_dripsOverTheNextDay(uint48 amount, uint256 time) public {
        time = bound(time, 0, 1 days);
        back(alice, id, 1e18);
        uint256 toBackers = rewardDollars(amount) / 2;
        warpTo(0, 1 days - 1);
        assertEq(vault.claimable(id, alice), 0);
        assertEq(vault.undripped(id), toBackers);

        warpTo(1, time);
        uint256 dripped = toBackers * time / 1 days;
        assertApproxEqAbs(vault.claimable(id, alice), dripped, 1);
        assertLe(vault.claimable(id, alice), dripped);
        assertEq(vault.undripped(id), toBackers - dripped);
        uint256 first = claim(alice);

        warpTo(2, 0);
        claim(alice);
        assertApproxEqAbs(token.balanceOf(alice), toBackers, 2);
        assertGe(token.balanceOf(alice), first);
        assertEq(vault.undripped(id), 0);
        vm.warp(block.timestamp + 30 days);
        assertEq(claim(alice), 0);
    }

    function testFuzzClaim_proRata(uint96 a, uint96 b, uint48 amount) public {
        (a, b) = (uint96(bound(a, 1, 1e27)), uint96(bound(b, 1e18, 1e27)));
        back(alice, id, a);
        back(bob, id, b);
        uint256 toBackers = rewardDollars(amount) / 2;
        warpTo(2, 0);
        uint256 total = uint256(a) + b;
        assertApproxEqAbs(vault.claimable(id, alice), toBackers * a / total, 1);
        assertApproxEqAbs(vault.claimable(id, bob), toBackers * b / total, 1);
        assertLe(claim(alice) + claim(bob), toBackers);
    }

    /// @dev Fees of two consecutive days, both unclaimed, drip over two days.
    function testClaim_daysFollowEachOther() public {
        back(alice, id, 1e18);
        rewardDollars(2_000);
        warpTo(1, 12 hours);
        rewardDollars(200);
        assertEq(vault.undripped(id), 500 + 100);
        assertEq(vault.claimable(id, alice), 500);
        warpTo(1, 12 hours);
        assertEq(vault.undripped(id), 50);
        assertEq(vault.claimable(id, alice), 1_050);
        warpTo(1, 0);
        assertEq(claim(alice), 1_100);
    }

    /// @dev After weeks without a call, nothing is lost and nothing is counted twice.
    function testClaim_afterWeeksWithoutCalls() public {
        back(alice, id, 1e18);
        rewardDollars(2_000);
        warpTo(1, 6 hours);
        rewardDollars(200);
        vm.warp(block.timestamp + 90 days);
        assertEq(vault.undripped(id), 0);
        assertEq(claim(alice), 1_100);
    }

    /// @dev Frequent updates of the accounting lose nothing to rounding.
    function testClaim_accountedEveryMinute() public {
        back(alice, id, 1e18);
        back(bob, id, 1e18);
        rewardDollars(200); // 100 units over a day: one in 864 seconds
        warpTo(1, 0);
        for (uint256 i; i < 1440; ++i) {
            vm.warp(block.timestamp + 1 minutes);
            vm.prank(makeAddr("stranger"));
            vault.claim(id);
        }
        assertEq(claim(alice), 50);
        assertEq(claim(bob), 50);
    }

    function testFuzzUnback_keepsWhatDripped(uint256 time) public {
        time = bound(time, 0, 1 days - 1);
        back(alice, id, 1e18);
        back(bob, id, 1e18);
        rewardDollars(2_000_000);
        warpTo(1, time);
        vm.prank(alice);
        vault.unback(id, 1e18);
        warpTo(1, 0);
        assertApproxEqAbs(claim(alice), 500_000 * time / 1 days, 1);
        assertApproxEqAbs(claim(bob), 1_000_000 - 500_000 * time / 1 days, 2);
    }

    /// @dev When the last backer leaves, the rewards of today and tomorrow that have not dripped go to the Safe, and
    /// not to later backers.
    function testFuzzUnback_lastBackerLeavesTheRestToTheSafe(uint256 time, uint48 first, uint48 second) public {
        time = bound(time, 0, 1 days - 1);
        back(alice, id, 1e18);
        uint256 dripping = rewardDollars(first) / 2;
        warpTo(1, time);
        uint256 collected = rewardDollars(second) / 2;
        uint256 left = dripping - dripping * time / 1 days + collected;
        uint256 safeBefore = token.balanceOf(agentSafe);
        vm.expectEmit(address(vault));
        emit IBackerVault.ReturnedToSafe(id, left);
        vm.prank(alice);
        vault.unback(id, 1e18);
        assertEq(token.balanceOf(agentSafe), safeBefore + left);
        assertEq(vault.undripped(id), 0);

        back(bob, id, 1e18);
        vm.warp(block.timestamp + 3 days);
        assertEq(claim(bob), 0);
        assertApproxEqAbs(claim(alice), dripping * time / 1 days, 1);
    }

    /// @dev The total falls below the minimum: those who remain keep their share of what was given before, and only new
    /// rewards go to the Safe.
    function testFuzzUnback_smallBackersKeepTheirRewards(uint256 time, uint256 owners) public {
        (time, owners) = (bound(time, 0, 1 days - 1), bound(owners, 1, 1e18 - 1));
        back(alice, id, owners);
        back(bob, id, 1e18 - owners);
        rewardDollars(2_000_000);
        warpTo(1, time);
        rewardDollars(4_000_000);
        uint256 safeBefore = token.balanceOf(agentSafe);
        vm.prank(alice);
        vault.unback(id, owners);
        uint256 left = 1_000_000 - 1_000_000 * time / 1 days + 2_000_000;
        assertApproxEqAbs(token.balanceOf(agentSafe) - safeBefore, left * owners / 1e18, 3);
        safeBefore = token.balanceOf(agentSafe);
        rewardDollars(2_000_000);
        assertEq(token.balanceOf(agentSafe), safeBefore + 2_000_000);
        warpTo(3, 0);
        assertApproxEqAbs(claim(bob), 3_000_000 * (1e18 - owners) / 1e18, 3);
        assertApproxEqAbs(claim(alice), (3_000_000 - left) * owners / 1e18, 2);
    }

    function testUnback_lastBackerOfNothing() public {
        back(alice, id, 1e18);
        vm.recordLogs();
        vm.prank(alice);
        vault.unback(id, 1e18);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i; i < logs.length; ++i) {
            assertNotEq(logs[i].topics[0], IBackerVault.ReturnedToSafe.selector);
        }
    }

    function testClaim_ofOneAgentOnly() public {
        address second = address(createAgent(bob));
        back(alice, id, 1e18);
        back(bob, second, 1e18);
        rewardDollars(1_000_000);
        warpTo(2, 0);
        assertEq(vault.claimable(second, bob), 0);
        vm.prank(bob);
        assertEq(vault.claim(id), 0);
        vm.expectEmit(address(vault));
        emit IBackerVault.Claimed(id, alice, 500_000);
        assertEq(claim(alice), 500_000);
    }

    /// @dev Tokens and stake sent by a plain transfer belong to no one.
    function testClaim_giftsChangeNothing() public {
        back(alice, id, 1e18);
        fundToken(bob, 1e6);
        vm.prank(bob);
        assertTrue(token.transfer(address(vault), 1e6));
        staking.mint(address(vault), 5e18);
        warpTo(2, 0);
        assertEq(claim(alice), 0);
        vm.expectPartialRevert(IBackerVault.InsufficientBacking.selector);
        vm.prank(alice);
        vault.unback(id, 1e18 + 1);
    }

    /// @dev A fee from which the agent's backers and Safe get `dollars` token units.
    function rewardDollars(uint256 dollars) private returns (uint256) {
        dollars = dollars < 2 ? 2 : dollars;
        notifyDollars(id, dollars * 5);
        return converter.convert(id, address(usdc));
    }

    function claim(address backer) private returns (uint256) {
        vm.prank(backer);
        return vault.claim(id);
    }
}
