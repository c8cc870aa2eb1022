// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {stdError} from "forge-std/StdError.sol";

import {InferenceSettlement} from "../src/InferenceSettlement.sol";
import {IInferenceSettlement} from "../src/interfaces/IInferenceSettlement.sol";
import {BaseTest} from "./helpers/BaseTest.sol";
import {PayingSettlement} from "./helpers/PayingSettlement.sol";

interface ITimelock {
    error TimelockUnexpectedOperationState(bytes32 operation, bytes32 expectedStates);
    error TimelockInsufficientDelay(uint256 delay, uint256 minDelay);

    function schedule(address target, uint256 value, bytes calldata data, bytes32 after_, bytes32 salt, uint256 delay)
        external;
    function execute(address target, uint256 value, bytes calldata data, bytes32 after_, bytes32 salt) external;
}

contract InferenceSettlementTest is BaseTest {
    /// @dev The most that an account can activate, in token units.
    uint256 internal constant MAX = type(uint80).max / 1000;

    function testConstructor_wiresAndStartsAtFiftyDollars() public view {
        assertEq(address(settlement.TOKEN()), address(token));
        assertEq(address(settlement.MINTER()), address(minter));
        assertEq(settlement.TIMELOCK(), timelock);
        assertEq(settlement.guardian(), guardian);
        assertEq(settlement.settler(), settler);
        assertEq(settlement.ceilingNanoUsd(), 50 * 1e9);
        assertEq(settlement.activationCount(), 0);
        assertEq(settlement.totalActivated(), 0);
        assertEq(settlement.receiptKey(), RECEIPT_KEY);
    }

    function testConstructor_announcesItsRoles() public {
        vm.expectEmit();
        emit IInferenceSettlement.CeilingChanged(0, 50e9);
        vm.expectEmit();
        emit IInferenceSettlement.GuardianChanged(address(0), guardian);
        vm.expectEmit();
        emit IInferenceSettlement.SettlerChanged(address(0), settler);
        vm.expectEmit();
        emit IInferenceSettlement.ProviderChanged(address(0), provider);
        vm.expectEmit();
        emit IInferenceSettlement.ReceiptKeyChanged(0, RECEIPT_KEY);
        new InferenceSettlement(settlementWiring());
    }

    /* CREDIT */

    function testFuzzActivate_burnsAndCredits(uint256 held, uint256 amount) public {
        held = bound(held, 1, MAX);
        amount = bound(amount, 1, held);
        fundToken(alice, held);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Activated(1, alice, alice, amount, amount, amount * 1000, 0, 0);
        vm.prank(alice);
        settlement.activate(amount);
        assertEq(token.balanceOf(alice), held - amount);
        assertEq(token.totalSupply(), held - amount);
        assertEq(minter.backing(), held);
        assertEq(settlement.creditNanoUsd(alice), amount * 1000);
        (uint256 activated, uint256 debited, uint256 served) = settlement.accountOf(alice);
        assertEq(activated, amount * 1000);
        assertEq(debited + served, 0);
        assertEq(settlement.totalCreditNanoUsd(), amount * 1000);
        assertEq(settlement.totalActivated(), amount);
        assertEq(settlement.activationCount(), 1);
    }

    function testFuzzActivateFor_giftsCredit(uint256 first, uint256 second) public {
        first = bound(first, 1, MAX / 2);
        second = bound(second, 1, MAX / 2);
        fundToken(alice, first + second);
        vm.startPrank(alice);
        settlement.activateFor(first, bob);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Activated(2, bob, alice, second, first + second, (first + second) * 1000, 0, 0);
        settlement.activateFor(second, bob);
        assertEq(settlement.creditNanoUsd(alice), 0);
        assertEq(settlement.creditNanoUsd(bob), (first + second) * 1000);
        assertEq(token.totalSupply(), 0);
    }

    /// @dev All functions and accounts share one sequence of ids, with a running total.
    function testActivate_idsAreContiguousAcrossFunctions() public {
        fundToken(alice, 10);
        fund(bob, 10);
        vm.prank(alice);
        settlement.activate(1);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Activated(2, alice, bob, 2, 3, 3_000, 0, 0);
        vm.prank(bob);
        minter.mintAndActivate(2, alice);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Activated(3, bob, alice, 3, 6, 3_000, 0, 0);
        vm.prank(alice);
        settlement.activateFor(3, bob);
        assertEq(settlement.activationCount(), 3);
        assertEq(settlement.totalActivated(), 6);
        assertEq(settlement.totalCreditNanoUsd(), 6_000);
    }

    function testActivate_zeroAmount() public {
        fundToken(alice, 1);
        vm.startPrank(alice);
        vm.expectRevert(IInferenceSettlement.ZeroAmount.selector);
        settlement.activate(0);
        vm.expectRevert(IInferenceSettlement.ZeroAmount.selector);
        settlement.activateFor(0, bob);
        vm.startPrank(address(minter));
        vm.expectRevert(IInferenceSettlement.ZeroAmount.selector);
        settlement.activateMinted(0, bob, alice);
    }

    function testActivateFor_zeroAccount() public {
        fundToken(alice, 1);
        vm.startPrank(alice);
        vm.expectRevert(IInferenceSettlement.ZeroAccount.selector);
        settlement.activateFor(1, address(0));
    }

    function testActivate_moreThanHeld() public {
        fundToken(alice, 1);
        vm.startPrank(alice);
        vm.expectRevert(abi.encodeWithSelector(IERC20Errors.ERC20InsufficientBalance.selector, alice, 1, 2));
        settlement.activate(2);
        vm.expectRevert(abi.encodeWithSelector(IERC20Errors.ERC20InsufficientBalance.selector, alice, 1, 2));
        settlement.activateFor(2, bob);
    }

    function testFuzzActivateMinted_minterOnly(address caller) public {
        expectOnly(caller, address(minter), IInferenceSettlement.OnlyMinter.selector);
        settlement.activateMinted(1, caller, caller);
    }

    /// @dev An account's total never overflows into the total beside it.
    function testFuzzActivateMinted_overflow(uint256 amount) public {
        amount = bound(amount, MAX + 1, type(uint256).max / 1000);
        vm.startPrank(address(minter));
        vm.expectRevert(abi.encodeWithSelector(SafeCast.SafeCastOverflowedUintDowncast.selector, 80, amount * 1000));
        settlement.activateMinted(amount, alice, alice);
        settlement.activateMinted(MAX, alice, alice);
        vm.expectRevert(stdError.arithmeticError);
        settlement.activateMinted(1, alice, alice);
        (uint256 activated, uint256 debited, uint256 served) = settlement.accountOf(alice);
        assertEq(activated, MAX * 1000);
        assertEq(debited + served, 0);
    }

    /* CEILING */

    function testFuzzRaiseCeiling_timelockOnlyAndHigher(address caller, uint96 to) public {
        expectOnly(caller, timelock, IInferenceSettlement.OnlyTimelock.selector);
        settlement.raiseCeiling(to);

        vm.startPrank(timelock);
        if (to <= 50e9) {
            vm.expectRevert(abi.encodeWithSelector(IInferenceSettlement.CeilingNotHigher.selector, 50e9, to));
            settlement.raiseCeiling(to);
        } else {
            vm.expectEmit(address(settlement));
            emit IInferenceSettlement.CeilingChanged(50e9, to);
            settlement.raiseCeiling(to);
            assertEq(settlement.ceilingNanoUsd(), to);
        }
    }

    function testRaiseCeiling_equalIsNotHigher() public {
        vm.expectRevert(abi.encodeWithSelector(IInferenceSettlement.CeilingNotHigher.selector, 50e9, 50e9));
        vm.prank(timelock);
        settlement.raiseCeiling(50e9);
    }

    /// @dev Through the real timelock: no one can execute before two days have passed, and anyone can afterwards.
    function testRaiseCeiling_afterTheDelayOnly() public {
        bytes memory data = abi.encodeCall(settlement.raiseCeiling, (200e9));
        vm.prank(proposer);
        ITimelock(timelock).schedule(address(settlement), 0, data, 0, 0, 48 hours);
        vm.warp(block.timestamp + 48 hours - 1);
        vm.expectPartialRevert(ITimelock.TimelockUnexpectedOperationState.selector);
        ITimelock(timelock).execute(address(settlement), 0, data, 0, 0);
        vm.warp(block.timestamp + 1);
        vm.prank(bob);
        ITimelock(timelock).execute(address(settlement), 0, data, 0, 0);
        assertEq(settlement.ceilingNanoUsd(), 200e9);
    }

    function testRaiseCeiling_noShorterDelayAndNoOtherProposer() public {
        bytes memory data = abi.encodeCall(settlement.raiseCeiling, (200e9));
        vm.expectRevert(abi.encodeWithSelector(ITimelock.TimelockInsufficientDelay.selector, 48 hours - 1, 48 hours));
        vm.prank(proposer);
        ITimelock(timelock).schedule(address(settlement), 0, data, 0, 0, 48 hours - 1);
        vm.expectPartialRevert(IAccessControl.AccessControlUnauthorizedAccount.selector);
        vm.prank(guardian);
        ITimelock(timelock).schedule(address(settlement), 0, data, 0, 0, 48 hours);
    }

    function testFuzzLowerCeiling_guardianOnlyAndLower(address caller, uint96 to) public {
        expectOnly(caller, guardian, IInferenceSettlement.OnlyGuardian.selector);
        settlement.lowerCeiling(to);

        vm.startPrank(guardian);
        if (to >= 50e9) {
            vm.expectRevert(abi.encodeWithSelector(IInferenceSettlement.CeilingNotLower.selector, 50e9, to));
            settlement.lowerCeiling(to);
        } else {
            vm.expectEmit(address(settlement));
            emit IInferenceSettlement.CeilingChanged(50e9, to);
            settlement.lowerCeiling(to);
            assertEq(settlement.ceilingNanoUsd(), to);
        }
    }

    function testLowerCeiling_toZeroAtOnce() public {
        vm.prank(guardian);
        settlement.lowerCeiling(0);
        (, uint256 left,) = settlement.ceilingToday();
        assertEq(left, 0);
    }

    function testFuzzCeilingToday_leftAndReset(uint32 time, uint96 paid, uint96 lowered) public {
        PayingSettlement paying = new PayingSettlement(settlementWiring());
        vm.warp(time);
        uint256 today = uint256(time) / 86_400;
        lowered = uint96(bound(lowered, 0, 50e9 - 1));
        paid = uint96(bound(paid, 0, 50e9));
        paying.pay(today, paid);
        vm.prank(guardian);
        paying.lowerCeiling(lowered);

        (uint256 day, uint256 left, uint256 resetsAt) = paying.ceilingToday();
        assertEq(day, today);
        assertEq(left, lowered > paid ? lowered - paid : 0);
        assertGt(resetsAt, time);
        assertLe(resetsAt - time, 1 days);
        assertEq(resetsAt % 86_400, 0);

        vm.warp(resetsAt);
        (day, left,) = paying.ceilingToday();
        assertEq(day, today + 1);
        assertEq(left, lowered);
        assertEq(paying.paidNanoUsd(today), paid);
    }

    /* ROLES */

    function testFuzzRevokeSettler_guardianOnly(address caller) public {
        expectOnly(caller, guardian, IInferenceSettlement.OnlyGuardian.selector);
        settlement.revokeSettler();

        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.SettlerChanged(settler, address(0));
        vm.prank(guardian);
        settlement.revokeSettler();
        assertEq(settlement.settler(), address(0));
    }

    function testFuzzSetSettler_timelockOnly(address caller, address newSettler) public {
        expectOnly(caller, timelock, IInferenceSettlement.OnlyTimelock.selector);
        settlement.setSettler(newSettler);

        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.SettlerChanged(settler, newSettler);
        vm.prank(timelock);
        settlement.setSettler(newSettler);
        assertEq(settlement.settler(), newSettler);
    }

    function testFuzzSetReceiptKey_timelockOnly(address caller, bytes32 newKey) public {
        expectOnly(caller, timelock, IInferenceSettlement.OnlyTimelock.selector);
        settlement.setReceiptKey(newKey);

        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.ReceiptKeyChanged(RECEIPT_KEY, newKey);
        vm.prank(timelock);
        settlement.setReceiptKey(newKey);
        assertEq(settlement.receiptKey(), newKey);
    }

    function testFuzzSetGuardian_timelockOnly(address caller, address newGuardian) public {
        vm.assume(caller != timelock && newGuardian != guardian);
        vm.expectRevert(IInferenceSettlement.OnlyTimelock.selector);
        vm.prank(caller);
        settlement.setGuardian(newGuardian);

        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.GuardianChanged(guardian, newGuardian);
        vm.prank(timelock);
        settlement.setGuardian(newGuardian);
        assertEq(settlement.guardian(), newGuardian);

        vm.expectRevert(IInferenceSettlement.OnlyGuardian.selector);
        vm.prank(guardian);
        settlement.revokeSettler();
    }
}
