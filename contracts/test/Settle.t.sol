// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IInferenceSettlement} from "../src/interfaces/IInferenceSettlement.sol";
import {Asked, Chunks, Listed} from "./helpers/Chunks.sol";
import {SettleTest} from "./helpers/SettleTest.sol";

/// @notice Debits, days and layout of {InferenceSettlement.settle}. Agents, payments and proofs are in the files beside.
contract SettleDebitsTest is SettleTest {
    /* DEBITS */

    function testFuzzSettle_debitsAndOwesTheProvider(uint64 first, uint64 second) public {
        first = uint64(bound(first, 1, 25e9));
        second = uint64(bound(second, 1, 25e9));
        bytes memory data = Chunks.encode(new Listed[](0), list(ask(alice, first), ask(bob, second)));
        uint256 total = uint256(first) + second;
        bytes32 root = Chunks.rootOf(Chunks.leavesOf(Chunks.decode(data)));
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Settled(today, root, total, total, total, data);
        vm.prank(settler);
        settlement.settle(today, data);
        assertAccount(alice, first);
        assertAccount(bob, second);
        assertEq(settlement.owedProviderNanoUsd(), total);
        assertEq(settlement.totalOwedNanoUsd(), total);
        assertEq(settlement.totalDebitedNanoUsd(), total);
        assertEq(settlement.paidNanoUsd(today), total);
        assertEq(settlement.blockOf(root), block.number);
        assertBooks();
    }

    function testSettle_sumsGoOnFromChunkToChunk() public {
        settle(debit(alice, 3e9));
        bytes memory data = debit(alice, 4e9);
        bytes32 root = Chunks.leafOf(Chunks.decode(data)[0]);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Settled(today, root, 4e9, 7e9, 7e9, data);
        vm.prank(settler);
        settlement.settle(today, data);
        assertAccount(alice, 7e9);
        assertBooks();
    }

    /// @dev A record counts once (I9): posted again it no longer starts at the account's total.
    function testFuzzSettle_recordCountsOnce(uint64 before, uint64 amount) public {
        settle(debit(alice, 5e9));
        Asked memory asked = ask(alice, uint64(bound(amount, 1, 1e9)));
        asked.before = before;
        bytes memory data = Chunks.encode(new Listed[](0), list(asked));
        uint256 booked = before == 5e9 ? 1 : 0;
        assertEq(settle(data).length, booked);
        assertEq(settle(data).length, 0);
        assertAccount(alice, 5e9 + booked * asked.amount);
        assertBooks();
    }

    function testSettle_twoRecordsOfAnAccountInAChunk() public {
        Asked memory next = ask(alice, 4);
        next.before = 3;
        assertEq(settle(Chunks.encode(new Listed[](0), list(ask(alice, 3), next))).length, 2);
        assertAccount(alice, 7);
        assertBooks();
    }

    /// @dev A skipped record is in neither tree nor event, and does not stop the others.
    function testSettle_skippedRecordLeavesNoTrace() public {
        Asked memory skipped = ask(alice, 1e9);
        skipped.before = 1;
        IInferenceSettlement.Record[] memory booked =
            settle(Chunks.encode(new Listed[](0), list(skipped, ask(bob, 2e9))));
        assertEq(booked.length, 1);
        assertEq(booked[0].account, bob);
        assertAccount(alice, 0);
        assertAccount(bob, 2e9);
    }

    function testSettle_chunkThatMovesNothing() public {
        bytes32 slots = vm.load(address(settlement), 0);
        bytes[] memory chunks = new bytes[](4);
        chunks[0] = hex"00";
        chunks[1] = debit(alice, 0);
        chunks[2] = debit(makeAddr("carol"), 1e9);
        chunks[3] = Chunks.encode(table(agent, today), new Asked[](0));
        for (uint256 i; i < chunks.length; ++i) {
            vm.record();
            assertEq(settle(chunks[i]).length, 0);
            (, bytes32[] memory writes) = vm.accesses(address(settlement));
            assertEq(writes.length, 0);
        }
        assertEq(vm.load(address(settlement), 0), slots);
        assertEq(settlement.totalDebitedNanoUsd(), 0);
    }

    /// @dev What credit does not cover waits: the same statement is told again, from the new total.
    function testSettle_creditEndsMidway() public {
        raiseCeiling(1_000e9);
        IInferenceSettlement.Record[] memory booked = settle(debit(alice, 100e9));
        assertEq(booked[0].amountNanoUsd, CREDIT * 1000);
        assertEq(settlement.creditNanoUsd(alice), 0);
        assertEq(settle(debit(alice, 40e9)).length, 0, "no credit, no record");
        activateCredit(alice, 15e6);
        assertEq(settle(debit(alice, 40e9))[0].amountNanoUsd, 15e9);
        assertAccount(alice, CREDIT * 1000 + 15e9);
        assertBooks();
    }

    function testSettle_lastNanoDollarButNotMore() public {
        raiseCeiling(100e9);
        settle(debit(alice, uint64(CREDIT * 1000 - 1)));
        assertEq(settle(debit(alice, 2))[0].amountNanoUsd, 1);
        assertEq(settlement.creditNanoUsd(alice), 0);
    }

    function testFuzzSettle_settlerOnly(address caller) public {
        bytes memory data = debit(alice, 1);
        expectOnly(caller, settler, IInferenceSettlement.OnlySettler.selector);
        settlement.settle(today, data);
        vm.prank(guardian);
        settlement.revokeSettler();
        expectRefusal(data, abi.encodeWithSelector(IInferenceSettlement.OnlySettler.selector));
    }

    /* CEILING AND DAYS */

    function testSettle_ceilingEndsMidway() public {
        raiseCeiling(55e9);
        Asked[] memory records = new Asked[](3);
        (records[0], records[1], records[2]) = (ask(alice, 30e9), ask(bob, 26e9), ask(alice, 1e9));
        records[2].before = 30e9;
        IInferenceSettlement.Record[] memory booked = settle(Chunks.encode(new Listed[](0), records));
        assertEq(booked.length, 2);
        assertEq(booked[1].amountNanoUsd, 25e9);
        assertEq(settlement.paidNanoUsd(today), 55e9);
        (, uint256 left,) = settlement.ceilingToday();
        assertEq(left, 0);
        assertBooks();
    }

    function testSettle_nothingLeftUnderTheCeiling() public {
        settle(debit(alice, 50e9));
        bytes memory reason = abi.encodeWithSelector(IInferenceSettlement.CeilingReached.selector, today);
        expectRefusal(debit(bob, 1), reason);
        lowerCeiling(25e9);
        expectRefusal(debit(bob, 1), reason);
        settle(hex"00");
        raiseCeiling(51e9);
        assertEq(settle(debit(bob, 2e9))[0].amountNanoUsd, 1e9);
        assertEq(settlement.paidNanoUsd(today), 51e9);
    }

    function testFuzzSettle_todayOrYesterdayUntilSix(uint32 day, uint256 time) public {
        time = bound(time, 0, 1 days - 1);
        day = uint32(bound(day, today - 2, today + 2));
        vm.warp(today * 1 days + time);
        bytes memory data = debit(alice, 1);
        if (day == today || (day + 1 == today && time < 6 hours)) {
            settle(day, data);
            assertEq(settlement.paidNanoUsd(day), 1);
        } else {
            expectRefusal(day, data, abi.encodeWithSelector(IInferenceSettlement.WrongDay.selector, day, today));
        }
    }

    function testSettle_graceEndsAtSix() public {
        vm.warp((today + 1) * 1 days + 6 hours);
        bytes memory reason = abi.encodeWithSelector(IInferenceSettlement.WrongDay.selector, today, today + 1);
        expectRefusal(debit(alice, 1), reason);
        expectRefusal(hex"00", reason);
        vm.warp((today + 1) * 1 days + 6 hours - 1);
        settle(debit(alice, 1));
    }

    /// @dev Yesterday has the ceiling with which it ended, until its grace period is over.
    function testSettle_raiseDoesNotReopenYesterday() public {
        settle(debit(alice, 50e9));
        vm.warp((today + 1) * 1 days + 1);
        raiseCeiling(60e9);
        raiseCeiling(70e9);
        bytes memory data = debit(bob, 60e9);
        expectRefusal(data, abi.encodeWithSelector(IInferenceSettlement.CeilingReached.selector, today));
        assertEq(settlement.ceilingOn(today), 50e9);
        assertEq(settlement.ceilingOn(today + 1), 70e9);
        settle(today + 1, data);
        vm.warp((today + 2) * 1 days);
        assertEq(settlement.ceilingOn(today + 1), 70e9);
    }

    function testSettle_lowerAlsoStopsYesterday() public {
        vm.warp((today + 1) * 1 days + 1);
        lowerCeiling(20e9);
        assertEq(settle(debit(alice, 20e9 + 1))[0].amountNanoUsd, 20e9);
        raiseCeiling(30e9);
        assertEq(settlement.ceilingOn(today), 30e9);
        raiseCeiling(80e9);
        assertEq(settlement.ceilingOn(today), 50e9);
    }

    function testFuzzCeilingOn_openDaysOnly(uint256 day) public {
        vm.warp((today + 1) * 1 days);
        vm.assume(day != today && day != today + 1);
        vm.expectRevert(abi.encodeWithSelector(IInferenceSettlement.WrongDay.selector, day, today + 1));
        settlement.ceilingOn(day);
    }

    /* LAYOUT */

    /// @dev Every length but those at which a record ends is refused, also if the call data goes on behind the data.
    function testSettle_dataCutShort() public {
        Asked memory served = askServed(alice, 3e9, 2e9);
        bytes memory data = Chunks.encode(table(agent, today), list(served, ask(bob, 1e9)));
        assertEq(data.length, 1 + 22 + 69 + 9 + 69);
        for (uint256 length; length < data.length; ++length) {
            if (length == 23 || length == 101) continue;
            uint256 from = length == 0 ? 0 : length < 23 ? 1 : length < 101 ? 23 : 101;
            bytes memory cutShort = abi.encodeCall(settlement.settle, (today, data));
            assembly ("memory-safe") {
                mstore(add(cutShort, 100), length)
            }
            vm.prank(settler);
            (bool ok, bytes memory reason) = address(settlement).call(cutShort);
            assertFalse(ok);
            assertEq(reason, malformed(from));
        }
        assertEq(settle(data).length, 2);
    }

    function testFuzzSettle_bytesBehindTheLastRecord(uint256 extra) public {
        bytes memory tail = new bytes(bound(extra, 1, 68));
        expectRefusal(bytes.concat(debit(alice, 1), tail), malformed(1 + 69));
    }

    /// @dev The table is in ascending order of address and day, so that no agent's day is in it twice.
    function testFuzzSettle_tableInOrder(Listed memory a, Listed memory b) public {
        (a.day, b.day) = (uint16(bound(a.day, 1, today)), uint16(bound(b.day, 1, today)));
        Listed[] memory entries = new Listed[](2);
        (entries[0], entries[1]) = (a, b);
        bytes memory data = Chunks.encode(entries, list(ask(alice, 1)));
        bool isOrdered = a.agent < b.agent || (a.agent == b.agent && a.day < b.day);
        if (isOrdered) assertEq(settle(data).length, 1);
        else expectRefusal(data, malformed(1 + 22));
    }

    function testSettle_tableNamesAnAgentsDayOnce() public {
        Listed[] memory entries = new Listed[](2);
        (entries[0], entries[1]) = (Listed(agent, uint16(today)), Listed(agent, uint16(today)));
        expectRefusal(Chunks.encode(entries, list(ask(alice, 1))), malformed(1 + 22));
    }

    function testSettle_agentThatIsNotInTheTable() public {
        Asked memory asked = askServed(alice, 2, 1);
        expectRefusal(Chunks.encode(new Listed[](0), list(asked)), malformed(1 + 69));
        asked.parts[0].agent = 1;
        expectRefusal(Chunks.encode(table(agent, today), list(asked)), malformed(1 + 22 + 69));
    }

    /// @dev Whether a chunk is well-formed does not depend on what its records find.
    function testSettle_skippedRecordsMustBeWellFormed() public {
        Asked memory asked = askServed(alice, 5, 6);
        asked.before = 1;
        bytes memory reason = abi.encodeWithSelector(IInferenceSettlement.PartsAboveAmount.selector, 100 + 1 + 22 + 69);
        expectRefusal(Chunks.encode(table(agent, today), list(asked)), reason);
    }

    /// @dev A chunk of 1,800 accounts: its event, its root, and a proof of each hundredth record.
    function testSettle_eighteenHundredAccounts() public {
        raiseCeiling(type(uint96).max);
        Asked[] memory records = new Asked[](1_800);
        bytes memory data = hex"00";
        for (uint160 i; i < records.length; ++i) {
            address account = address(uint160(uint256(keccak256(abi.encode(i)))));
            vm.prank(address(minter));
            settlement.activateMinted(1e6, account, account);
            records[i] = ask(account, 1 + uint64(i) * 400_000);
        }
        data = encodeMany(records);
        assertLt(data.length, 128 * 1024);
        IInferenceSettlement.Record[] memory booked = settle(data);
        assertEq(booked.length, 1_800);
        for (uint256 i; i < booked.length; ++i) {
            assertEq(booked[i].account, records[i].account);
            assertEq(booked[i].amountNanoUsd, records[i].amount);
            assertEq(debitedOf(records[i].account), records[i].amount);
        }
    }

    /// @dev Chunks.encode copies what it has for each record, which is slow for many.
    function encodeMany(Asked[] memory records) private pure returns (bytes memory data) {
        bytes[] memory pieces = new bytes[](60);
        uint256 size = records.length / pieces.length;
        for (uint256 i; i < pieces.length; ++i) {
            Asked[] memory some = new Asked[](size);
            for (uint256 j; j < size; ++j) {
                some[j] = records[i * size + j];
            }
            bytes memory piece = Chunks.encode(new Listed[](0), some);
            // The first byte is the empty table of the piece, and comes once in the whole.
            data = i == 0 ? piece : bytes.concat(data, withoutFirst(piece));
        }
    }

    function withoutFirst(bytes memory piece) private pure returns (bytes memory rest) {
        rest = new bytes(piece.length - 1);
        for (uint256 i; i < rest.length; ++i) {
            rest[i] = piece[i + 1];
        }
    }

    function assertAccount(address account, uint256 debited) private view {
        (uint256 activated, uint256 debitedNow, uint256 served) = settlement.accountOf(account);
        assertEq(debitedNow, debited);
        assertEq(served, 0);
        assertEq(settlement.creditNanoUsd(account), activated - debited);
    }
}
