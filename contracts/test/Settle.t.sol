// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Hashes} from "@openzeppelin/contracts/utils/cryptography/Hashes.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IInferenceSettlement} from "../src/interfaces/IInferenceSettlement.sol";
import {ITokenMinter} from "../src/interfaces/ITokenMinter.sol";
import {BaseTest} from "./helpers/BaseTest.sol";
import {ScriptedPool, ScriptedRegistry} from "./helpers/ScriptedAgents.sol";

/// @notice Batches and payments of {InferenceSettlement}.
contract SettleTest is BaseTest {
    using SafeCast for uint256;

    uint256 internal constant CREDIT = 60e6;

    address internal agent = makeAddr("agent");
    address internal safe = makeAddr("safe");
    address internal treasury = makeAddr("treasury");
    ScriptedPool internal pool;
    ScriptedRegistry internal registry;
    uint256 internal today;

    function setUp() public override {
        super.setUp();
        pool = ScriptedPool(factory.deploy("InferencePool", type(ScriptedPool).creationCode));
        registry = ScriptedRegistry(factory.deploy("AgentRegistry", type(ScriptedRegistry).creationCode));
        registry.setAgent(agent, safe, treasury);
        today = block.timestamp / 1 days;
        pool.setCapacity(agent, today, 20e9);
        activateCredit(alice, CREDIT);
        activateCredit(bob, CREDIT);
    }

    /* DEBITS */

    function testFuzzSettle_debitsAndOwesTheProvider(uint96 first, uint96 second) public {
        first = uint96(bound(first, 0, 25e9));
        second = uint96(bound(second, 0, 25e9));
        IInferenceSettlement.Batch memory batch = newBatch(2, 0);
        batch.debits[0] = IInferenceSettlement.Debit(alice, first);
        batch.debits[1] = IInferenceSettlement.Debit(bob, second);
        uint256 total = uint256(first) + second;
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Debited(1, alice, first, CREDIT * 1000 - first);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Debited(1, bob, second, CREDIT * 1000 - second);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Settled(1, today, batch.root, total, total, total);
        settle(batch);
        assertEq(settlement.creditNanoUsd(alice), CREDIT * 1000 - first);
        assertEq(settlement.creditNanoUsd(bob), CREDIT * 1000 - second);
        assertEq(settlement.owedProviderNanoUsd(), total);
        assertEq(settlement.totalOwedNanoUsd(), total);
        assertEq(settlement.totalDebitedNanoUsd(), total);
        assertEq(settlement.paidNanoUsd(today), total);
        assertEq(settlement.batchCount(), 1);
        assertBooks();
    }

    function testSettle_oneAccountTwiceInABatch() public {
        IInferenceSettlement.Batch memory batch = newBatch(2, 0);
        batch.debits[0] = IInferenceSettlement.Debit(alice, 3);
        batch.debits[1] = IInferenceSettlement.Debit(alice, 4);
        settle(batch);
        assertEq(settlement.creditNanoUsd(alice), CREDIT * 1000 - 7);
        assertBooks();
    }

    function testSettle_lastNanoDollarButNotMore() public {
        raiseCeiling(100e9);
        settle(debit(alice, (CREDIT * 1000).toUint96()));
        assertEq(settlement.creditNanoUsd(alice), 0);
        expectRefusal(
            debit(alice, 1), abi.encodeWithSelector(IInferenceSettlement.InsufficientCredit.selector, alice, 1, 0)
        );
    }

    function testFuzzSettle_settlerOnly(address caller) public {
        vm.assume(caller != settler);
        IInferenceSettlement.Batch memory batch = debit(alice, 1);
        vm.expectRevert(IInferenceSettlement.OnlySettler.selector);
        vm.prank(caller);
        settlement.settle(batch);
        vm.prank(guardian);
        settlement.revokeSettler();
        vm.expectRevert(IInferenceSettlement.OnlySettler.selector);
        vm.prank(settler);
        settlement.settle(batch);
    }

    function testSettle_idsAreConsecutive() public {
        IInferenceSettlement.Batch memory batch = debit(alice, 1);
        settle(batch);
        expectRefusal(batch, abi.encodeWithSelector(IInferenceSettlement.WrongBatch.selector, 2, 1));
        batch.id = 3;
        expectRefusal(batch, abi.encodeWithSelector(IInferenceSettlement.WrongBatch.selector, 2, 3));
        batch.id = 2;
        settle(batch);
        assertEq(settlement.batchCount(), 2);
    }

    function testSettle_oneToTwoHundredEntries() public {
        expectRefusal(newBatch(0, 0), abi.encodeWithSelector(IInferenceSettlement.WrongBatchSize.selector, 0));
        IInferenceSettlement.Batch memory batch = newBatch(200, 1);
        expectRefusal(batch, abi.encodeWithSelector(IInferenceSettlement.WrongBatchSize.selector, 201));
        batch = newBatch(200, 0);
        for (uint256 i; i < 200; ++i) {
            batch.debits[i] = IInferenceSettlement.Debit(alice, 1);
        }
        settle(batch);
        assertEq(settlement.totalDebitedNanoUsd(), 200);
    }

    function testSettle_atMostAHundredServes() public {
        IInferenceSettlement.Batch memory batch = newBatch(100, 100);
        for (uint256 i; i < 100; ++i) {
            batch.serves[i] = IInferenceSettlement.Serve(agent, alice, today.toUint32(), 1);
        }
        settle(batch);
        batch = newBatch(0, 101);
        expectRefusal(batch, abi.encodeWithSelector(IInferenceSettlement.TooManyServes.selector, 101));
    }

    function testSettle_withoutARoot() public {
        IInferenceSettlement.Batch memory batch = debit(alice, 1);
        batch.root = 0;
        expectRefusal(batch, abi.encodeWithSelector(IInferenceSettlement.NoRoot.selector));
    }

    /* DAYS */

    function testFuzzSettle_todayOrYesterdayUntilSix(uint256 day, uint256 time) public {
        time = bound(time, 0, 1 days - 1);
        day = bound(day, 0, today + 2);
        vm.warp(today * 1 days + time);
        IInferenceSettlement.Batch memory batch = debit(alice, 1);
        batch.day = day;
        if (day == today || (day + 1 == today && time < 6 hours)) {
            settle(batch);
            assertEq(settlement.paidNanoUsd(day), 1);
        } else {
            expectRefusal(batch, abi.encodeWithSelector(IInferenceSettlement.WrongDay.selector, day, today));
        }
    }

    function testSettle_graceEndsAtSix() public {
        IInferenceSettlement.Batch memory batch = debit(alice, 1);
        vm.warp((today + 1) * 1 days + 6 hours);
        expectRefusal(batch, abi.encodeWithSelector(IInferenceSettlement.WrongDay.selector, today, today + 1));
        vm.warp((today + 1) * 1 days + 6 hours - 1);
        settle(batch);
    }

    function testSettle_currentCeilingApplies() public {
        settle(debit(alice, 30e9));
        expectRefusal(
            debit(bob, 20e9 + 1),
            abi.encodeWithSelector(IInferenceSettlement.CeilingReached.selector, today, 20e9 + 1, 20e9)
        );
        vm.prank(guardian);
        settlement.lowerCeiling(25e9);
        expectRefusal(debit(bob, 1), abi.encodeWithSelector(IInferenceSettlement.CeilingReached.selector, today, 1, 0));
        raiseCeiling(31e9);
        settle(debit(bob, 1e9));
        (, uint256 left,) = settlement.ceilingToday();
        assertEq(left, 0);
        assertEq(settlement.paidNanoUsd(today), 31e9);
    }

    /// @dev Yesterday has the ceiling with which it ended, until its grace period is over.
    function testSettle_raiseDoesNotReopenYesterday() public {
        settle(debit(alice, 50e9));
        vm.warp((today + 1) * 1 days + 1);
        raiseCeiling(60e9);
        raiseCeiling(70e9);
        IInferenceSettlement.Batch memory batch = debit(bob, 1);
        expectRefusal(batch, abi.encodeWithSelector(IInferenceSettlement.CeilingReached.selector, today, 1, 0));
        assertEq(settlement.ceilingOn(today), 50e9);
        assertEq(settlement.ceilingOn(today + 1), 70e9);
        batch.day = today + 1;
        batch.debits[0].amountNanoUsd = 60e9;
        settle(batch);
        vm.warp((today + 2) * 1 days);
        assertEq(settlement.ceilingOn(today + 1), 70e9);
    }

    function testSettle_lowerAlsoStopsYesterday() public {
        vm.warp((today + 1) * 1 days + 1);
        vm.prank(guardian);
        settlement.lowerCeiling(20e9);
        IInferenceSettlement.Batch memory batch = debit(alice, 20e9 + 1);
        expectRefusal(
            batch, abi.encodeWithSelector(IInferenceSettlement.CeilingReached.selector, today, 20e9 + 1, 20e9)
        );
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

    /* AGENTS */

    /// @dev The shares always sum to the whole, and the amount owed back stays below one token unit.
    function testFuzzSettle_splitOfAnAgent(uint96 first, uint96 second) public {
        first = uint96(bound(first, 0, 10e9));
        second = uint96(bound(second, 0, 10e9));
        settle(serve(alice, first, today));
        settle(serve(alice, second, today));
        (uint256 toSafe, uint256 toTreasury) = settlement.owedAgentNanoUsd(agent);
        assertEq(toSafe, uint256(first) * 40 / 100 + uint256(second) * 40 / 100);
        uint256 back = uint256(first) / 10 + uint256(second) / 10;
        assertEq(toTreasury, uint256(first) + second - toSafe - back);
        assertEq(token.balanceOf(alice), back / 1000);
        assertEq(settlement.owedBackNanoUsd(alice), back % 1000);
        assertEq(settlement.servedNanoUsd(agent, today), uint256(first) + second);
        assertEq(settlement.owedProviderNanoUsd(), 0);
        assertEq(settlement.totalOwedNanoUsd(), toSafe + toTreasury + back % 1000);
        assertBooks();
    }

    /// @dev Fractions from earlier batches can complete a unit that is worth more than the batch that completes it.
    function testSettle_earlierFractionsFillAUnit() public {
        settle(serve(alice, 9_990, today));
        assertEq(token.balanceOf(alice), 0);
        settle(serve(alice, 10, today));
        assertEq(token.balanceOf(alice), 1);
        assertEq(settlement.owedBackNanoUsd(alice), 0);
        assertBooks();
    }

    function testSettle_serveIsAnnounced() public {
        IInferenceSettlement.Batch memory batch = serve(alice, 10e9, today);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Debited(1, alice, 10e9, CREDIT * 1000 - 10e9);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Served(1, alice, agent, today, 10e9, 10e9);
        vm.expectEmit(address(minter));
        emit ITokenMinter.MintedBack(alice, 1e6);
        settle(batch);
        batch = serve(bob, 1e9, today);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Served(2, bob, agent, today, 1e9, 11e9);
        settle(batch);
    }

    function testSettle_capacityOfTheDayServed() public {
        pool.setCapacity(agent, today - 3, 5e9);
        settle(serve(alice, 5e9, today - 3));
        expectRefusal(
            serve(alice, 1, today - 3),
            abi.encodeWithSelector(IInferenceSettlement.CapacityExceeded.selector, agent, today - 3, 1, 0)
        );
        settle(serve(alice, 12e9, today));
        expectRefusal(
            serve(bob, 9e9, today),
            abi.encodeWithSelector(IInferenceSettlement.CapacityExceeded.selector, agent, today, 9e9, 8e9)
        );
        settle(serve(bob, 8e9, today));
    }

    /// @dev If the pool reports less than was served, the remaining capacity is zero and does not underflow.
    function testSettle_capacityThatShrank() public {
        settle(serve(alice, 10e9, today));
        pool.setCapacity(agent, today, 1e9);
        expectRefusal(
            serve(alice, 1, today),
            abi.encodeWithSelector(IInferenceSettlement.CapacityExceeded.selector, agent, today, 1, 0)
        );
    }

    function testSettle_servedAfterTheDayOfTheBatch() public {
        pool.setCapacity(agent, today + 1, 20e9);
        IInferenceSettlement.Batch memory batch = serve(alice, 1, today + 1);
        expectRefusal(batch, abi.encodeWithSelector(IInferenceSettlement.WrongDay.selector, today + 1, today));
        // Also when that day is today, and the batch is yesterday's.
        vm.warp((today + 1) * 1 days);
        expectRefusal(batch, abi.encodeWithSelector(IInferenceSettlement.WrongDay.selector, today + 1, today));
        batch.day = today + 1;
        settle(batch);
    }

    /// @dev An allowance expires: a use can be settled until three days after the day on which it was served.
    function testFuzzSettle_servesOfThreeDaysBefore(uint256 age, bool yesterday) public {
        age = bound(age, 0, today);
        uint256 day = yesterday ? today - 1 : today;
        vm.warp(today * 1 days);
        vm.assume(age <= day);
        pool.setCapacity(agent, day - age, 1e9);
        IInferenceSettlement.Batch memory batch = serve(alice, 1e9, day - age);
        batch.day = day;
        if (age <= 3) settle(batch);
        else expectRefusal(batch, abi.encodeWithSelector(IInferenceSettlement.WrongDay.selector, day - age, day));
    }

    function testSettle_serverThatIsNoAgent() public {
        pool.setCapacity(bob, today, 20e9);
        IInferenceSettlement.Batch memory batch = serve(alice, 1, today);
        batch.serves[0].agent = bob;
        expectRefusal(batch, abi.encodeWithSelector(IInferenceSettlement.NotAnAgent.selector, bob));
    }

    function testSettle_serveBeyondCredit() public {
        address carol = makeAddr("carol");
        expectRefusal(
            serve(carol, 1, today),
            abi.encodeWithSelector(IInferenceSettlement.InsufficientCredit.selector, carol, 1, 0)
        );
    }

    /* PAY */

    function testFuzzPayProvider_wholeUnitsAndKeepsTheRest(uint96 amount) public {
        amount = uint96(bound(amount, 1_000, 50e9));
        settle(debit(alice, amount));
        uint256 units = amount / 1000;
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Paid(IInferenceSettlement.Payee.Provider, address(0), provider, units, amount % 1000);
        vm.prank(bob);
        settlement.payProvider();
        assertEq(usdc.balanceOf(provider), units);
        assertEq(settlement.owedProviderNanoUsd(), amount % 1000);
        assertEq(settlement.totalOwedNanoUsd(), amount % 1000);
        assertEq(minter.backing(), 2 * CREDIT - units);
        assertBooks();
    }

    function testPay_safeAndTreasuryApart() public {
        settle(serve(alice, 10e9 + 999, today));
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Paid(IInferenceSettlement.Payee.Safe, agent, safe, 4e6, 399);
        settlement.paySafe(agent);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Paid(IInferenceSettlement.Payee.Treasury, agent, treasury, 5e6, 501);
        settlement.payTreasury(agent);
        assertEq(usdc.balanceOf(safe), 4e6);
        assertEq(usdc.balanceOf(treasury), 5e6);
        assertEq(settlement.owedBackNanoUsd(alice), 99);
        assertEq(settlement.totalOwedNanoUsd(), 999);
        assertBooks();
    }

    function testPay_nothingOwed() public {
        settle(debit(alice, 999));
        vm.expectRevert(IInferenceSettlement.NothingOwed.selector);
        settlement.payProvider();
        vm.expectRevert(IInferenceSettlement.NothingOwed.selector);
        settlement.paySafe(agent);
        vm.expectRevert(IInferenceSettlement.NothingOwed.selector);
        settlement.payTreasury(agent);
    }

    /// @dev Dollars gifted to the minter cannot be paid out.
    function testPay_neverMoreThanTheBacking() public {
        settle(debit(alice, 10e9));
        usdc.mint(address(minter), 1e6);
        settlement.payProvider();
        vm.expectRevert(IInferenceSettlement.NothingOwed.selector);
        settlement.payProvider();
        assertEq(usdc.balanceOf(provider), 10e6);
    }

    function testFuzzSetProvider_timelockOnly(address caller, address newProvider) public {
        vm.assume(caller != timelock);
        vm.expectRevert(IInferenceSettlement.OnlyTimelock.selector);
        vm.prank(caller);
        settlement.setProvider(newProvider);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.ProviderChanged(provider, newProvider);
        vm.prank(timelock);
        settlement.setProvider(newProvider);
        assertEq(settlement.provider(), newProvider);
    }

    /* BRIDGED ACTIVATION */

    function testFuzzActivateBridged_bridgeOnly(address caller) public {
        vm.assume(caller != bridge);
        vm.expectRevert(IInferenceSettlement.OnlyBridge.selector);
        vm.prank(caller);
        settlement.activateBridged(1, caller, caller, EID_1, "guid");
    }

    /* LEAF */

    function testFuzzLeafOf_isTheDocumentedHash(IInferenceSettlement.Use calldata use, uint64 chainId) public {
        vm.chainId(chainId == 0 ? 1 : chainId);
        bytes32 inner = keccak256(
            abi.encode(
                block.chainid,
                address(settlement),
                use.batch,
                use.account,
                use.receipt,
                use.costNanoUsd,
                use.server,
                use.dayServed,
                use.offerHash
            )
        );
        assertEq(settlement.leafOf(use), keccak256(abi.encode(inner)));
    }

    /* PROOF */

    /// @dev Three leaves in OpenZeppelin's tree: the third is beside the node of the others.
    function testFuzzVerify_usesOfTheBatch(IInferenceSettlement.Use[3] calldata given, uint256 other) public {
        IInferenceSettlement.Use[3] memory uses = given;
        bytes32[3] memory leaves;
        for (uint256 i; i < 3; ++i) {
            uses[i].batch = 1;
            leaves[i] = settlement.leafOf(uses[i]);
        }
        bytes32 node = Hashes.commutativeKeccak256(leaves[0], leaves[1]);
        IInferenceSettlement.Batch memory batch = debit(alice, 1);
        batch.root = Hashes.commutativeKeccak256(node, leaves[2]);
        bytes32[] memory proof = new bytes32[](1);
        proof[0] = node;
        assertFalse(settlement.verify(uses[2], proof), "not settled yet");
        settle(batch);
        assertEq(settlement.rootOf(1), batch.root);
        assertEq(settlement.rootOf(2), 0);
        assertTrue(settlement.verify(uses[2], proof));
        assertFalse(settlement.verify(uses[2], new bytes32[](0)));

        vm.assume(other != uses[2].costNanoUsd);
        uses[2].costNanoUsd = other;
        assertFalse(settlement.verify(uses[2], proof), "another cost");
        uses[2] = given[2];
        uses[2].batch = 2;
        assertFalse(settlement.verify(uses[2], proof), "another batch");
        uses[2].batch = 1;
        vm.chainId(block.chainid + 1);
        assertFalse(settlement.verify(uses[2], proof), "another chain");
        vm.chainId(block.chainid - 1);

        proof = new bytes32[](2);
        (proof[0], proof[1]) = (leaves[0], leaves[2]);
        assertTrue(settlement.verify(uses[1], proof));
    }

    /// @dev A batch of one use: the leaf is the root, and the proof is empty.
    function testVerify_oneUse() public {
        IInferenceSettlement.Use memory use;
        (use.batch, use.account, use.costNanoUsd) = (1, alice, 5);
        IInferenceSettlement.Batch memory batch = debit(alice, 5);
        batch.root = settlement.leafOf(use);
        settle(batch);
        assertTrue(settlement.verify(use, new bytes32[](0)));
        use.account = bob;
        assertFalse(settlement.verify(use, new bytes32[](0)));
    }

    /* HELPERS */

    function activateCredit(address account, uint256 amount) private {
        fund(account, amount);
        vm.prank(account);
        minter.mintAndActivate(amount, account);
    }

    function newBatch(uint256 debits, uint256 serves) private view returns (IInferenceSettlement.Batch memory batch) {
        (batch.id, batch.day, batch.root) = (settlement.batchCount() + 1, today, keccak256("root"));
        batch.debits = new IInferenceSettlement.Debit[](debits);
        batch.serves = new IInferenceSettlement.Serve[](serves);
    }

    function debit(address account, uint96 amountNanoUsd)
        private
        view
        returns (IInferenceSettlement.Batch memory batch)
    {
        batch = newBatch(1, 0);
        batch.debits[0] = IInferenceSettlement.Debit(account, amountNanoUsd);
    }

    function serve(address account, uint96 amountNanoUsd, uint256 day)
        private
        view
        returns (IInferenceSettlement.Batch memory batch)
    {
        batch = newBatch(0, 1);
        batch.serves[0] = IInferenceSettlement.Serve(agent, account, day.toUint32(), amountNanoUsd);
    }

    function settle(IInferenceSettlement.Batch memory batch) private {
        vm.prank(settler);
        settlement.settle(batch);
    }

    function expectRefusal(IInferenceSettlement.Batch memory batch, bytes memory reason) private {
        vm.expectRevert(reason);
        vm.prank(settler);
        settlement.settle(batch);
    }

    function raiseCeiling(uint96 to) private {
        vm.prank(timelock);
        settlement.raiseCeiling(to);
    }

    /// @dev I1a, from the settlement's own view.
    function assertBooks() private view {
        IInferenceSettlement.Books memory books = settlement.books();
        assertEq(books.backing, books.supply + books.credit + books.owed + books.lines, "books");
        assertEq(books.backing, minter.backing() * 1000);
        assertEq(books.supply, token.totalSupply() * 1000);
        assertEq(books.credit, settlement.creditNanoUsd(alice) + settlement.creditNanoUsd(bob));
    }
}
