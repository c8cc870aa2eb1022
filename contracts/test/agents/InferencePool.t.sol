// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {InferencePool} from "../../src/agents/InferencePool.sol";
import {IInferenceStaking} from "../../src/agents/interfaces/IInferenceStaking.sol";
import {BaseTest} from "../helpers/BaseTest.sol";
import {PlainDollar} from "../helpers/Dollars.sol";
import {FalseToken, FeeToken, ReentrantToken} from "./helpers/Tokens.sol";

contract InferencePoolTest is BaseTest {
    uint256 internal constant MAX = type(uint208).max;

    PlainDollar internal staking;
    InferencePool internal pool;
    uint256 internal today;

    function setUp() public override {
        super.setUp();
        staking = new PlainDollar(18);
        pool = new InferencePool(staking);
        today = block.timestamp / 1 days;
        for (uint256 i; i < 2; ++i) {
            address who = i == 0 ? alice : bob;
            staking.mint(who, type(uint128).max);
            vm.prank(who);
            staking.approve(address(pool), type(uint256).max);
        }
    }

    function testFuzzConstructor_needs18Decimals(uint8 decimals) public {
        PlainDollar other = new PlainDollar(decimals);
        vm.assume(decimals != 18);
        vm.expectRevert(abi.encodeWithSelector(IInferenceStaking.UnsupportedDecimals.selector, decimals));
        new InferencePool(other);
    }

    /* ENTER */

    function testFuzzEnter_countsFromTheNextDay(uint128 amount, uint256 time) public {
        amount = uint128(bound(amount, 1, type(uint128).max));
        vm.warp(today * 1 days + bound(time, 0, 1 days - 1));
        vm.expectEmit(address(pool));
        emit IInferenceStaking.Entered(alice, alice, amount, amount);
        vm.prank(alice);
        pool.enter(amount);
        assertEq(pool.stakeOf(alice, alice), amount);
        assertEq(pool.totalStakeOf(alice), amount);
        assertEq(staking.balanceOf(address(pool)), amount);

        assertEq(pool.capacityToday(alice), 0);
        vm.warp((today + 1) * 1 days - 1);
        assertEq(pool.capacityToday(alice), 0);
        vm.warp((today + 1) * 1 days);
        assertEq(pool.capacityToday(alice), amount / 1e9);
        assertEq(pool.capacityOn(alice, today), 0);
    }

    function testEnter_oneTokenIsOneDollar() public {
        vm.prank(alice);
        pool.enter(1e18);
        vm.warp(block.timestamp + 1 days);
        assertEq(pool.capacityToday(alice), 1e9);
    }

    function testEnterFor_isAGift() public {
        vm.expectEmit(address(pool));
        emit IInferenceStaking.Entered(bob, bob, 5e18, 5e18);
        vm.prank(alice);
        pool.enterFor(bob, 5e18);
        assertEq(pool.stakeOf(bob, bob), 5e18);
        assertEq(pool.stakeOf(alice, bob), 0);
        vm.expectRevert(abi.encodeWithSelector(IInferenceStaking.InsufficientStake.selector, 1, 0));
        vm.prank(alice);
        pool.requestExit(bob, 1, alice);
    }

    function testEnterUnder_keepsTheExitRight() public {
        vm.expectEmit(address(pool));
        emit IInferenceStaking.Entered(alice, bob, 5e18, 5e18);
        vm.prank(alice);
        pool.enterUnder(bob, 5e18);
        vm.expectRevert(abi.encodeWithSelector(IInferenceStaking.InsufficientStake.selector, 1, 0));
        vm.prank(bob);
        pool.requestExit(bob, 1, bob);
        vm.prank(alice);
        pool.requestExit(bob, 5e18, alice);
        assertEq(pool.totalStakeOf(bob), 0);
    }

    function testEnter_zeroAmountOrIdentity() public {
        vm.startPrank(alice);
        vm.expectRevert(IInferenceStaking.ZeroAmount.selector);
        pool.enter(0);
        vm.expectRevert(IInferenceStaking.ZeroAmount.selector);
        pool.enterFor(bob, 0);
        vm.expectRevert(IInferenceStaking.ZeroAddress.selector);
        pool.enterFor(address(0), 1);
        vm.expectRevert(IInferenceStaking.ZeroAddress.selector);
        pool.enterUnder(address(0), 1);
    }

    function testEnter_tokenThatDeliversLess() public {
        FeeToken fee = new FeeToken();
        InferencePool feePool = new InferencePool(fee);
        fee.mint(alice, 10);
        fee.takeFees();
        vm.startPrank(alice);
        fee.approve(address(feePool), 10);
        vm.expectRevert(abi.encodeWithSelector(IInferenceStaking.WrongAmountReceived.selector, 10, 9));
        feePool.enter(10);
    }

    /// @dev An amount that overflows the storage width reverts.
    function testEnter_overflow() public {
        staking.mint(alice, MAX);
        vm.startPrank(alice);
        vm.expectRevert(abi.encodeWithSelector(SafeCast.SafeCastOverflowedUintDowncast.selector, 208, MAX + 1));
        pool.enter(MAX + 1);
    }

    /* EXIT */

    function testFuzzRequestExit_countsFromTheNextDay(uint128 staked, uint128 out, uint256 time) public {
        staked = uint128(bound(staked, 1, type(uint128).max));
        out = uint128(bound(out, 1, staked));
        vm.prank(alice);
        pool.enter(staked);
        vm.warp((today + 1) * 1 days + bound(time, 0, 1 days - 1));
        vm.expectEmit(address(pool));
        emit IInferenceStaking.ExitRequested(1, alice, alice, out, staked - out, bob, block.timestamp + 1 days);
        vm.prank(alice);
        assertEq(pool.requestExit(alice, out, bob), 1);

        assertEq(pool.capacityToday(alice), staked / 1e9);
        vm.warp((today + 2) * 1 days);
        assertEq(pool.capacityToday(alice), (staked - out) / 1e9);
        assertEq(pool.capacityOn(alice, today + 1), staked / 1e9);
    }

    function testFuzzExit_afterADayOnlyOnceByAnyone(uint128 amount, address caller) public {
        amount = uint128(bound(amount, 1, type(uint128).max));
        vm.startPrank(alice);
        pool.enter(amount);
        uint256 id = pool.requestExit(alice, amount, makeAddr("to"));
        vm.stopPrank();
        uint256 readyAt = block.timestamp + 1 days;
        (address to, uint64 storedReadyAt, uint256 storedAmount) = pool.exits(id);
        assertEq(to, makeAddr("to"));
        assertEq(storedReadyAt, readyAt);
        assertEq(storedAmount, amount);

        vm.warp(readyAt - 1);
        vm.expectRevert(abi.encodeWithSelector(IInferenceStaking.ExitNotReady.selector, id, readyAt));
        vm.prank(caller);
        pool.exit(id);

        vm.warp(readyAt);
        vm.expectEmit(address(pool));
        emit IInferenceStaking.Exited(id, makeAddr("to"), amount);
        vm.prank(caller);
        pool.exit(id);
        assertEq(staking.balanceOf(makeAddr("to")), amount);

        vm.expectRevert(abi.encodeWithSelector(IInferenceStaking.UnknownExit.selector, id));
        pool.exit(id);
    }

    function testRequestExit_refused() public {
        vm.startPrank(alice);
        pool.enter(5);
        vm.expectRevert(IInferenceStaking.ZeroAmount.selector);
        pool.requestExit(alice, 0, alice);
        vm.expectRevert(IInferenceStaking.ZeroAddress.selector);
        pool.requestExit(alice, 1, address(0));
        vm.expectRevert(abi.encodeWithSelector(IInferenceStaking.InsufficientStake.selector, 6, 5));
        pool.requestExit(alice, 6, alice);
    }

    function testExit_tokenThatReturnsFalse() public {
        FalseToken says = new FalseToken();
        InferencePool falsePool = new InferencePool(says);
        says.mint(alice, 1);
        vm.startPrank(alice);
        says.approve(address(falsePool), 1);
        falsePool.enter(1);
        uint256 id = falsePool.requestExit(alice, 1, alice);
        vm.warp(block.timestamp + 1 days);
        vm.expectRevert(abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, says));
        falsePool.exit(id);
        (,, uint256 due) = falsePool.exits(id);
        assertEq(due, 1);
    }

    /// @dev A token that calls back during the payment does not get it twice.
    function testExit_reentered() public {
        ReentrantToken calling = new ReentrantToken();
        InferencePool ownPool = new InferencePool(calling);
        calling.mint(alice, 2);
        vm.startPrank(alice);
        calling.approve(address(ownPool), 2);
        ownPool.enter(2);
        uint256 id = ownPool.requestExit(alice, 1, alice);
        vm.stopPrank();
        vm.warp(block.timestamp + 1 days);
        calling.setReentry(address(ownPool), abi.encodeCall(ownPool.exit, (id)));
        vm.expectRevert(abi.encodeWithSelector(IInferenceStaking.UnknownExit.selector, id));
        ownPool.exit(id);
        assertEq(calling.balanceOf(address(ownPool)), 2);
    }

    /* RESERVATION */

    function testFuzzReserve_capsFromTheNextDay(uint128 staked, uint256 reserved, uint256 time) public {
        staked = uint128(bound(staked, 1, type(uint128).max));
        vm.prank(alice);
        pool.enter(staked);
        assertEq(pool.reservationOf(alice), type(uint256).max);
        vm.warp((today + 1) * 1 days + bound(time, 0, 1 days - 1));
        vm.expectEmit(address(pool));
        emit IInferenceStaking.Reserved(alice, reserved);
        vm.prank(alice);
        pool.reserve(reserved);

        assertEq(pool.reservationOf(alice), reserved >= MAX ? type(uint256).max : reserved);
        assertEq(pool.capacityToday(alice), staked / 1e9);
        vm.warp((today + 2) * 1 days);
        assertEq(pool.capacityToday(alice), (reserved < staked ? reserved : staked) / 1e9);
        assertEq(pool.capacityOn(alice, today + 1), staked / 1e9);
    }

    function testReserve_zeroExposesNothingAndTheLargestRemovesTheCap() public {
        vm.startPrank(alice);
        pool.enter(7e18);
        pool.reserve(0);
        assertEq(pool.capacityOn(alice, today + 1), 0);
        pool.reserve(type(uint256).max);
        assertEq(pool.capacityOn(alice, today + 1), 7e9);
    }

    /// @dev The caller caps only itself.
    function testReserve_ofTheCallerOnly() public {
        vm.prank(alice);
        pool.enter(7e18);
        vm.prank(bob);
        pool.reserve(0);
        assertEq(pool.capacityOn(alice, today + 1), 7e9);
    }

    /* CAPACITY */

    function testFuzzCapacityOn_neverRevertsAndIsZeroForStrangers(address identity, uint256 day) public view {
        assertEq(pool.capacityOn(identity, day), 0);
    }

    /// @dev A future day returns the capacity if nothing changes; once the day begins, its capacity is fixed.
    function testCapacityOn_futureDay() public {
        vm.startPrank(alice);
        pool.enter(7e18);
        assertEq(pool.capacityOn(alice, today), 0);
        assertEq(pool.capacityOn(alice, today + 1), 7e9);
        assertEq(pool.capacityOn(alice, type(uint256).max), 7e9);
        pool.requestExit(alice, 3e18, alice);
        assertEq(pool.capacityOn(alice, today + 1), 4e9);
    }

    /// @dev Each past day keeps its capacity, whatever happens later.
    function testFuzzCapacityOn_historyIsKept(uint64[8] calldata amounts, uint64[8] calldata reserved) public {
        uint256[] memory expected = new uint256[](9);
        uint256 staked;
        for (uint256 i; i < 8; ++i) {
            vm.startPrank(alice);
            uint256 amount = uint256(amounts[i]) + 1;
            pool.enter(amount);
            pool.reserve(reserved[i]);
            vm.stopPrank();
            staked += amount;
            expected[i + 1] = (reserved[i] < staked ? reserved[i] : staked) / 1e9;
            vm.warp(block.timestamp + 1 days);
        }
        for (uint256 i; i < 9; ++i) {
            assertEq(pool.capacityOn(alice, today + i), expected[i]);
        }
    }
}
