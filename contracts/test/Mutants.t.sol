// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITokenBridge} from "../src/interfaces/ITokenBridge.sol";
import {Checks} from "./helpers/Checks.sol";
import {Chunks} from "./helpers/Chunks.sol";
import {Held} from "./helpers/Observer.sol";
import {MutantBridge, MutantMinter, MutantSettlement} from "./helpers/Mutants.sol";

/// @notice Each invariant check can fail: each defect is detected by exactly the invariants that it violates.
contract MutantsTest is Checks {
    MutantMinter internal mutantMinter;
    MutantSettlement internal mutantSettlement;
    MutantBridge internal mutantBridge;
    address internal actor;

    /// @dev Performs every kind of operation before the defect.
    function setUp() public override {
        (alice, aliceKey) = makeAddrAndKey("alice");
        vm.warp(1_800_000_000);
        vm.recordLogs();
        deployThreeChains(
            type(MutantMinter).creationCode, type(MutantSettlement).creationCode, type(MutantBridge).creationCode
        );
        mutantMinter = MutantMinter(address(minter));
        mutantSettlement = MutantSettlement(address(settlement));
        mutantBridge = MutantBridge(address(primary.bridge));
        startHandler();
        actor = handler.actors(0);
        handler.mint(0, 0, 1_000);
        handler.mintAndActivate(1, 0, 500);
        handler.activate(0, 1, 200, false);
        handler.transfer(0, 2, 100);
        handler.fundFloat(0, 50);
        handler.mintOnSecondary(0, 0, 0, 20e6);
        handler.bridge(0, 0, 1, 300, true);
        handler.relay(0, 1);
        handler.activateOnBase(0, 0, 0, 40);
        handler.relay(0, 1);
        handler.flush(0, type(uint256).max, true);
        handler.settle(0, 7_000, 2, 6, false);
        handler.settleServed(1, 30_000_000, 60_000, 0, false);
        handler.pay(1, 0);
        handler.pay(3, 1);
        assertEq(handler.chunks(), 2);
        assertEq(token.balanceOf(handler.actors(1)), 5);
    }

    function testChecks_holdBeforeTheDefect() public view {
        assertEq(broken(), "");
    }

    function testDefects_ofTheMinter() public {
        address target = address(minter);
        check(target, abi.encodeCall(mutantMinter.mintForNothing, (actor, 1)), "I1a I7 ");
        check(target, abi.encodeCall(mutantMinter.bookForNothing, (1)), "I1a I2 I8 ");
        check(target, abi.encodeCall(mutantMinter.sendUnbooked, (actor, 1)), "I2 ");
        check(target, abi.encodeCall(mutantMinter.writeOff, (1)), "I1a I8 ");
        check(target, abi.encodeCall(mutantMinter.raiseLineForNothing, (EID_1, 1)), "I1a I1b I4 ");
        check(target, abi.encodeCall(mutantMinter.moveLine, (EID_1, EID_2, 1)), "I1b I4 ");
        check(target, abi.encodeCall(mutantMinter.forgetGifts, (EID_1)), "I1b I4 ");
    }

    function testDefects_ofActivations() public {
        address target = address(settlement);
        check(target, abi.encodeCall(mutantSettlement.creditForNothing, (1, actor)), "I1a I7 ");
        check(target, abi.encodeCall(mutantSettlement.burnForNothing, (1, actor)), "I1a I7 ");
        check(target, abi.encodeCall(mutantSettlement.creditOutsideTheTotal, (1, actor)), "I3 I9 ");
        check(target, abi.encodeCall(mutantSettlement.skipAnId, ()), "I9 ");
        check(target, abi.encodeCall(mutantSettlement.announceTwice, (actor)), "I9 ");
    }

    /// @dev After the next activation the counts agree again, but the sequence still has a gap.
    function testDefect_idSkippedAndThenActivated() public {
        handler.callObserved(address(settlement), abi.encodeCall(mutantSettlement.skipAnId, ()));
        handler.mintAndActivate(0, 0, 1);
        assertEq(handler.lastId(), settlement.activationCount());
        assertEq(broken(), "I9 ");
    }

    function testDefects_ofDebitsAndPayments() public {
        address target = address(settlement);
        (address agent, address account) = (handler.agents(0), handler.actors(1));
        check(target, abi.encodeCall(mutantSettlement.payWithoutDebit, (actor, 1)), "I1a I8 ");
        check(target, abi.encodeCall(mutantSettlement.oweTwice, (1)), "I3 ");
        check(target, abi.encodeCall(mutantSettlement.oweOutsideTheRoles, (1)), "I1a I3 I8 ");
        check(target, abi.encodeCall(mutantSettlement.payASafeTwice, (agent, 1000)), "I3 ");
        check(target, abi.encodeCall(mutantSettlement.mintBackTwice, (actor, 1)), "I1a I7 I8 ");
        check(target, abi.encodeCall(mutantSettlement.payBackTwice, (account, 1000)), "I3 I7 ");
        check(target, abi.encodeCall(mutantSettlement.forgetADebit, (actor, 1)), "I3 I9 ");
        check(target, abi.encodeCall(mutantSettlement.forgetWhatWasServedTo, (account, 1)), "I3 I7 I9 ");
    }

    function testDefects_ofDaysAndRoots() public {
        address target = address(settlement);
        uint32 today = uint32(block.timestamp / 1 days);
        check(target, abi.encodeCall(mutantSettlement.settleWithoutStoring, (today)), "I9 ");
        check(target, abi.encodeCall(mutantSettlement.settleUnderAnotherRoot, (today, actor)), "I9 ");
        check(target, abi.encodeCall(mutantSettlement.payFromNoDay, (today, 1)), "I5 ");
    }

    function testDefects_ofTheBridge() public {
        address target = address(primary.bridge);
        ITokenBridge.Message memory unit = message(ITokenBridge.Kind.Transfer, 1);
        check(target, abi.encodeCall(mutantBridge.deliverAgain, (handler.guidOf(1), EID_1, unit)), "I1b I9 ");
        check(target, abi.encodeCall(mutantBridge.deliverUncovered, ("guid", EID_1, unit)), "I1a I1b I4 ");
        check(target, abi.encodeCall(mutantBridge.burnWithoutSending, (actor, 1)), "I1a I7 ");
    }

    /// @dev All balances agree in the end. Only an observer of every message detects the defect.
    function testDefect_transferFromGifts() public {
        handler.bridge(0, 0, 0, 5e6, false);
        handler.fundFloat(0, 10e6);
        handler.relay(2, 1);
        handler.relay(3, 1);
        Held memory waits = handler.heldAt(0);
        bytes memory call = abi.encodeCall(mutantBridge.deliverFromGifts, (waits.guid, waits.srcEid, waits.message));
        handler.callObserved(address(primary.bridge), call);
        assertEq(broken(), "I4 ");
    }

    function testDefect_mintedAboveTheCap() public {
        ITokenBridge.Message memory above = message(ITokenBridge.Kind.Transfer, DAILY_MINT_CAP);
        // On the secondary chain, whose bridge is replaced by the mutant.
        vm.etch(address(one.bridge), address(new MutantBridge(secondaryWiring())).code);
        bytes memory call = abi.encodeCall(mutantBridge.deliverUncovered, ("guid", EID_0, above));
        handler.callObserved(address(one.bridge), call);
        assertEq(broken(), "I4 ");
    }

    function testDefect_outboxEmptiedByItsAdapter() public {
        vm.prank(address(one.outbox));
        assertTrue(one.dollar.approve(address(this), type(uint256).max));
        handler.mintOnSecondary(0, 0, 0, 5e6);
        bytes memory call = abi.encodeCall(this.takeFromOutbox, ());
        handler.callObserved(address(this), call);
        assertEq(broken(), "I2 I8 ");
    }

    function takeFromOutbox() external {
        assertTrue(one.dollar.transferFrom(address(one.outbox), address(this), 1e12));
    }

    /// @dev The record that was booked is booked again, and all sums agree.
    function testDefect_recordBookedTwice() public {
        handler.callObserved(address(settlement), abi.encodeCall(mutantSettlement.forgetADebit, (actor, 7_000)));
        handler.settle(0, 7_000, 1, 6, false);
        assertEq(handler.chunks(), 3);
        assertEq(broken(), "I3 I9 ");
    }

    function testDefect_settledBeyondTheCeiling() public {
        handler.mintAndActivate(0, 0, 60e6);
        (, uint256 debited,) = settlement.accountOf(actor);
        uint32 today = uint32(block.timestamp / 1 days);
        bytes memory data = Chunks.debit(actor, debited, 50e9);
        handler.callObserved(
            address(settlement), abi.encodeCall(mutantSettlement.settleBeyondTheCeiling, (today, data))
        );
        assertEq(broken(), "I5 ");
    }

    function testDefect_yesterdayReopened() public {
        handler.mintAndActivate(0, 0, 200e6);
        vm.warp((block.timestamp / 1 days + 1) * 1 days);
        handler.changeCeiling(50e9, true);
        handler.settle(0, 50e9, 1, 6, true);
        assertEq(broken(), "");
        handler.callObserved(address(settlement), abi.encodeCall(mutantSettlement.reopenYesterday, ()));
        handler.settle(0, 60e9, 1, 6, true);
        assertEq(broken(), "I5 ");
    }

    function testDefect_servedBeyondCapacity() public {
        uint256 day = block.timestamp / 1 days;
        bytes memory call = abi.encodeCall(mutantSettlement.forgetWhatWasServedBy, (handler.agents(0), day));
        handler.callObserved(address(settlement), call);
        assertEq(broken(), "I5 ");
        handler.mintAndActivate(0, 0, 60e6);
        handler.settleServed(0, 0, 40e9, 0, false);
        assertEq(broken(), "I5 I6 ");
    }

    /* HELPERS */

    function message(ITokenBridge.Kind kind, uint96 amount) private view returns (ITokenBridge.Message memory) {
        return ITokenBridge.Message(kind, actor, actor, amount);
    }

    function secondaryWiring() private view returns (ITokenBridge.Wiring memory) {
        ITokenBridge.Pathway[] memory pathways = new ITokenBridge.Pathway[](1);
        pathways[0] = pathway(one.lz, EID_0, factory);
        return bridgeWiring(one, pathways);
    }

    /// @dev Makes a call, checks which invariants it violates, and takes it back.
    function check(address target, bytes memory call, string memory expected) private {
        uint256 before = vm.snapshotState();
        handler.callObserved(target, call);
        assertEq(broken(), expected, vm.toString(abi.encodePacked(bytes4(call))));
        assertTrue(vm.revertToStateAndDelete(before));
    }

    function broken() private view returns (string memory) {
        return failing("I1a I1b I2 I3 I4 I5 I6 I7 I8 I9");
    }
}
