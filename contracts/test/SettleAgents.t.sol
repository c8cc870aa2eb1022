// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IInferenceSettlement} from "../src/interfaces/IInferenceSettlement.sol";
import {ITokenMinter} from "../src/interfaces/ITokenMinter.sol";
import {Asked, AskedPart, Chunks, Listed} from "./helpers/Chunks.sol";
import {SettleTest} from "./helpers/SettleTest.sol";

/// @notice What agents serve, and all payments of {InferenceSettlement}.
contract SettleAgentsTest is SettleTest {
    /* PARTS */

    function testSettle_partsInOrderOutOfTheDebit() public {
        address second = addAgent(address(type(uint160).max), 5e9);
        Listed[] memory entries = new Listed[](2);
        (entries[0], entries[1]) = (Listed(agent, uint16(today)), Listed(second, uint16(today)));
        Asked memory asked = ask(alice, 12e9);
        asked.parts = new AskedPart[](3);
        (asked.parts[0], asked.parts[1], asked.parts[2]) = (AskedPart(1, 3e9), AskedPart(0, 4e9), AskedPart(1, 1e9));
        IInferenceSettlement.Record memory booked = settle(Chunks.encode(entries, list(asked)))[0];
        assertEq(booked.parts.length, 3);
        assertPart(booked.parts[0], second, today, 3e9);
        assertPart(booked.parts[1], agent, today, 4e9);
        assertPart(booked.parts[2], second, today, 1e9);
        assertEq(settlement.servedNanoUsd(agent, today), 4e9);
        assertEq(settlement.servedNanoUsd(second, today), 4e9);
        assertEq(settlement.owedProviderNanoUsd(), 4e9);
        assertServed(alice, 8e9);
        assertBooks();
    }

    /// @dev A debit that credit or ceiling cut short pays the first parts, and the last of these in part.
    function testSettle_partsOfADebitCutShort() public {
        raiseCeiling(100e9);
        settle(debit(alice, 50e9));
        pool.setCapacity(agent, today - 1, 20e9);
        Listed[] memory entries = new Listed[](2);
        (entries[0], entries[1]) = (Listed(agent, uint16(today - 1)), Listed(agent, uint16(today)));
        Asked memory asked = ask(alice, 15e9);
        asked.parts = new AskedPart[](3);
        (asked.parts[0], asked.parts[1], asked.parts[2]) = (AskedPart(0, 6e9), AskedPart(1, 7e9), AskedPart(0, 2e9));
        IInferenceSettlement.Record memory booked = settle(Chunks.encode(entries, list(asked)))[0];
        assertEq(booked.amountNanoUsd, 10e9);
        assertEq(booked.parts.length, 2);
        assertPart(booked.parts[0], agent, today - 1, 6e9);
        assertPart(booked.parts[1], agent, today, 4e9);
        assertEq(settlement.owedProviderNanoUsd(), 50e9);
        assertServed(alice, 10e9);
        assertBooks();
    }

    /// @dev What exceeds the capacity goes to the provider. It does not leave more of the debit to later parts.
    function testSettle_excessOverTheCapacityIsTheProviders() public {
        settle(serve(alice, 18e9, today));
        Asked memory asked = askServed(bob, 5e9, 3e9);
        IInferenceSettlement.Record memory booked = settle(Chunks.encode(table(agent, today), list(asked)))[0];
        assertPart(booked.parts[0], agent, today, 2e9);
        assertEq(settlement.owedProviderNanoUsd(), 3e9);
        booked = settle(serve(bob, 1e9, today))[0];
        assertEq(booked.parts.length, 0);
        assertEq(settlement.owedProviderNanoUsd(), 4e9);
        assertServed(bob, 2e9);
        assertBooks();
    }

    /// @dev A part takes its share of a debit cut short, also where its agent has no capacity for it.
    function testSettle_excessLeavesNoMoreToLaterParts() public {
        address second = addAgent(address(type(uint160).max), 20e9);
        pool.setCapacity(agent, today, 2e9);
        lowerCeiling(10e9);
        Listed[] memory entries = new Listed[](2);
        (entries[0], entries[1]) = (Listed(agent, uint16(today)), Listed(second, uint16(today)));
        Asked memory asked = ask(alice, 15e9);
        asked.parts = new AskedPart[](2);
        (asked.parts[0], asked.parts[1]) = (AskedPart(0, 6e9), AskedPart(1, 9e9));
        IInferenceSettlement.Record memory booked = settle(Chunks.encode(entries, list(asked)))[0];
        assertPart(booked.parts[0], agent, today, 2e9);
        assertPart(booked.parts[1], second, today, 4e9);
        assertEq(settlement.owedProviderNanoUsd(), 4e9);
        assertServed(alice, 6e9);
        assertBooks();
    }

    /// @dev The capacity is used up record by record within a chunk.
    function testSettle_capacityWithinAChunk() public {
        Asked memory a = askServed(alice, 15e9, 15e9);
        Asked memory b = askServed(bob, 15e9, 15e9);
        IInferenceSettlement.Record[] memory booked = settle(Chunks.encode(table(agent, today), list(a, b)));
        assertPart(booked[1].parts[0], agent, today, 5e9);
        assertEq(settlement.servedNanoUsd(agent, today), 20e9);
        assertEq(settlement.owedProviderNanoUsd(), 10e9);
    }

    /// @dev If the pool reports less than was served, the remaining capacity is zero and does not underflow.
    function testSettle_capacityThatShrank() public {
        settle(serve(alice, 10e9, today));
        pool.setCapacity(agent, today, 1e9);
        assertEq(settle(serve(alice, 1, today))[0].parts.length, 0);
        assertEq(settlement.servedNanoUsd(agent, today), 10e9);
    }

    function testSettle_serverThatIsNoAgent() public {
        pool.setCapacity(bob, today, 20e9);
        bytes memory data = Chunks.encode(table(bob, today), list(askServed(alice, 5, 5)));
        assertEq(settle(data)[0].parts.length, 0);
        assertEq(settlement.owedProviderNanoUsd(), 5);
        assertServed(alice, 0);
    }

    /// @dev A part stops no chunk on a chain without agents.
    function testSettle_chainWithoutAgents() public {
        vm.etch(address(registry), "");
        vm.etch(address(pool), "");
        assertEq(settle(serve(alice, 5, today))[0].parts.length, 0);
        assertEq(settlement.owedProviderNanoUsd(), 5);
    }

    /// @dev Capacity is fixed when its day begins, and does not expire: what waited for long is still paid.
    function testFuzzSettle_dayServedHasBegun(uint256 day) public {
        day = bound(day, 1, today + 400);
        pool.setCapacity(agent, day, 1e9);
        bytes memory data = serve(alice, 1e9, day);
        if (day <= today) {
            assertEq(settle(data)[0].parts[0].day, day);
            assertEq(settlement.servedNanoUsd(agent, day), 1e9);
        } else {
            expectRefusal(data, abi.encodeWithSelector(IInferenceSettlement.WrongDay.selector, day, today));
        }
    }

    function testSettle_dayServedIsNotTomorrow() public {
        bytes memory reason = abi.encodeWithSelector(IInferenceSettlement.WrongDay.selector, today + 1, today);
        expectRefusal(serve(alice, 1, today + 1), reason);
    }

    /// @dev Yesterday's chunk can pay what an agent served today.
    function testSettle_servedAfterTheDayOfTheChunk() public {
        vm.warp((today + 1) * 1 days);
        pool.setCapacity(agent, today + 1, 1e9);
        assertEq(settle(serve(alice, 1e9, today + 1)).length, 1);
        assertEq(settlement.paidNanoUsd(today), 1e9);
        assertEq(settlement.servedNanoUsd(agent, today + 1), 1e9);
    }

    function testFuzzSettle_partsAboveTheAmount(uint64 amount, uint64 first, uint64 second) public {
        Asked memory asked = ask(alice, amount);
        asked.parts = new AskedPart[](2);
        (asked.parts[0], asked.parts[1]) = (AskedPart(0, first), AskedPart(0, second));
        bytes memory data = Chunks.encode(table(agent, today), list(asked));
        bytes4 selector = IInferenceSettlement.PartsAboveAmount.selector;
        if (first > amount) expectRefusal(data, abi.encodeWithSelector(selector, 100 + 1 + 22 + 69));
        else if (second > amount - first) expectRefusal(data, abi.encodeWithSelector(selector, 100 + 1 + 22 + 69 + 9));
        else settle(data);
    }

    function testSettle_partsTogetherAboveTheAmount() public {
        Asked memory asked = ask(alice, 10);
        asked.parts = new AskedPart[](2);
        (asked.parts[0], asked.parts[1]) = (AskedPart(0, 6), AskedPart(0, 5));
        bytes4 selector = IInferenceSettlement.PartsAboveAmount.selector;
        bytes memory reason = abi.encodeWithSelector(selector, 100 + 1 + 22 + 69 + 9);
        expectRefusal(Chunks.encode(table(agent, today), list(asked)), reason);
    }

    /// @dev 255 agents in the table, each with a part in one record.
    function testSettle_fullTableAndFullRecord() public {
        Listed[] memory entries = new Listed[](255);
        Asked memory asked = ask(alice, 255e6);
        asked.parts = new AskedPart[](255);
        for (uint160 i; i < 255; ++i) {
            entries[i] = Listed(addAgent(address(1 + i), 1e9), uint16(today));
            asked.parts[i] = AskedPart(uint8(254 - i), 1e6);
        }
        IInferenceSettlement.Record memory booked = settle(Chunks.encode(entries, list(asked)))[0];
        for (uint160 i; i < 255; ++i) {
            assertPart(booked.parts[i], address(255 - i), today, 1e6);
        }
        assertEq(settlement.owedProviderNanoUsd(), 0);
        assertServed(alice, 255e6);
    }

    /* SHARES */

    /// @dev Many small records owe what one large record owes: shares are functions of totals.
    function testFuzzShares_doNotDependOnTheRecords(uint64[8] memory amounts) public {
        uint256 sum;
        for (uint256 i; i < amounts.length; ++i) {
            uint64 amount = uint64(bound(amounts[i], 1, 2e9));
            settle(serve(i % 2 == 0 ? alice : bob, amount, today));
            sum += amount;
        }
        (uint256 toSafe, uint256 toTreasury) = settlement.owedAgentNanoUsd(agent);
        assertEq(toSafe, sum * 40 / 100);
        assertEq(toTreasury, sum / 2);
        uint256 back = settlement.owedBackNanoUsd(alice) + settlement.owedBackNanoUsd(bob);
        assertApproxEqAbs(back, sum / 10, 1);
        // Rounding keeps at most one nano-dollar a share, and the books hold it.
        assertLe(settlement.totalOwedNanoUsd() - toSafe - toTreasury - back, 3);
        assertEq(settlement.totalOwedNanoUsd(), sum);
        assertBooks();
    }

    /// @dev Payments in between change nothing: what was paid and what is owed are the share of the total.
    function testFuzzShares_paidInBetween(uint64[6] memory amounts) public {
        uint256 sum;
        for (uint256 i; i < amounts.length; ++i) {
            uint64 amount = uint64(bound(amounts[i], 10_000, 3e9));
            settle(serve(alice, amount, today));
            sum += amount;
            settlement.paySafe(agent);
            settlement.payTreasury(agent);
            settlement.payBack(alice);
            assertBooks();
        }
        (uint256 toSafe, uint256 toTreasury) = settlement.owedAgentNanoUsd(agent);
        assertEq(usdc.balanceOf(safe) * 1000 + toSafe, sum * 40 / 100);
        assertEq(usdc.balanceOf(treasury) * 1000 + toTreasury, sum / 2);
        assertEq(token.balanceOf(alice) * 1000 + settlement.owedBackNanoUsd(alice), sum / 10);
    }

    /* PAY */

    function testFuzzPayProvider_wholeUnitsAndKeepsTheRest(uint64 amount) public {
        amount = uint64(bound(amount, 1_000, 50e9));
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

    function testPay_safeTreasuryAndAccountApart() public {
        settle(serve(alice, 10e9 + 999, today));
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Paid(IInferenceSettlement.Payee.Safe, agent, safe, 4e6, 399);
        settlement.paySafe(agent);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Paid(IInferenceSettlement.Payee.Treasury, agent, treasury, 5e6, 499);
        settlement.payTreasury(agent);
        vm.expectEmit(address(minter));
        emit ITokenMinter.MintedBack(alice, 1e6);
        vm.prank(bob);
        settlement.payBack(alice);
        assertEq(usdc.balanceOf(safe), 4e6);
        assertEq(usdc.balanceOf(treasury), 5e6);
        assertEq(token.balanceOf(alice), 1e6);
        assertEq(settlement.owedBackNanoUsd(alice), 99);
        assertEq(settlement.totalOwedNanoUsd(), 999);
        assertEq(minter.backing(), 2 * CREDIT - 9e6);
        assertBooks();
    }

    function testPay_nothingOwed() public {
        settle(debit(alice, 999));
        settle(serve(alice, 1_999, today));
        vm.expectRevert(IInferenceSettlement.NothingOwed.selector);
        settlement.payProvider();
        vm.expectRevert(IInferenceSettlement.NothingOwed.selector);
        settlement.paySafe(agent);
        vm.expectRevert(IInferenceSettlement.NothingOwed.selector);
        settlement.payTreasury(agent);
        vm.expectRevert(IInferenceSettlement.NothingOwed.selector);
        settlement.payBack(alice);
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
        expectOnly(caller, timelock, IInferenceSettlement.OnlyTimelock.selector);
        settlement.setProvider(newProvider);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.ProviderChanged(provider, newProvider);
        vm.prank(timelock);
        settlement.setProvider(newProvider);
        assertEq(settlement.provider(), newProvider);
    }

    /* BRIDGED ACTIVATION */

    function testFuzzActivateBridged_bridgeOnly(address caller) public {
        expectOnly(caller, bridge, IInferenceSettlement.OnlyBridge.selector);
        settlement.activateBridged(1, caller, caller, EID_1, "guid");
    }

    /* HELPERS */

    function addAgent(address added, uint256 capacity) private returns (address) {
        registry.setAgent(added, safe, treasury);
        pool.setCapacity(added, today, capacity);
        return added;
    }

    function assertPart(IInferenceSettlement.Part memory part, address server, uint256 day, uint256 amount)
        private
        pure
    {
        assertEq(part.agent, server);
        assertEq(part.day, day);
        assertEq(part.amountNanoUsd, amount);
    }

    function assertServed(address account, uint256 amount) private view {
        (,, uint256 served) = settlement.accountOf(account);
        assertEq(served, amount);
        assertEq(settlement.owedBackNanoUsd(account), amount / 10);
    }
}
