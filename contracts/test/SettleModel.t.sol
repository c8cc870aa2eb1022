// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IInferenceSettlement} from "../src/interfaces/IInferenceSettlement.sol";
import {Asked, AskedPart, Chunks, Listed} from "./helpers/Chunks.sol";
import {SettleTest} from "./helpers/SettleTest.sol";
import {SettlementModel} from "./helpers/SettlementModel.sol";

/// @notice Random chunks, activations, ceilings, capacities and payments: the settlement does what the model of its
/// rules does, in its totals and in its events.
contract SettleModelTest is SettleTest {
    SettlementModel internal model;
    address[3] internal accounts;
    address[3] internal agents;
    uint256 private seed;
    uint256 private records;

    function setUp() public override {
        super.setUp();
        model = new SettlementModel(pool, registry);
        (accounts[0], accounts[1], accounts[2]) = (alice, bob, makeAddr("carol"));
        model.activate(alice, CREDIT * 1000);
        model.activate(bob, CREDIT * 1000);
        // The last one is no agent of the registry.
        (agents[0], agents[1], agents[2]) = (agent, makeAddr("agent 1"), makeAddr("agent 2"));
        registry.setAgent(agents[1], safe, treasury);
    }

    function testFuzzSettle_isTheModel(uint256 firstSeed) public {
        seed = firstSeed;
        for (uint256 i; i < 8; ++i) {
            change();
            settleBoth();
            compare();
        }
        assertGt(records, 0);
    }

    /// @dev Something other than a chunk happens.
    function change() private {
        uint256 kind = below(5);
        address account = accounts[below(3)];
        if (kind == 0) {
            uint256 units = 1 + below(20e6);
            activateCredit(account, units);
            model.activate(account, units * 1000);
        } else if (kind == 1) {
            pool.setCapacity(agents[below(3)], today - below(3), below(6e9));
        } else if (kind == 2) {
            uint96 ceiling = settlement.ceilingNanoUsd();
            uint256 paid = settlement.paidNanoUsd(today);
            uint96 to = uint96(paid + 1 + below(20e9));
            if (to > ceiling) raiseCeiling(to);
            else if (to < ceiling) lowerCeiling(to);
        } else if (kind == 3) {
            if (settlement.owedProviderNanoUsd() >= 1000) settlement.payProvider();
            (uint256 toSafe,) = settlement.owedAgentNanoUsd(agent);
            if (toSafe >= 1000) settlement.paySafe(agent);
        } else if (settlement.owedBackNanoUsd(account) >= 1000) {
            settlement.payBack(account);
        }
    }

    /// @dev A random chunk. Most of its records start at the account's total, after those before it in the chunk.
    function settleBoth() private {
        Listed[] memory entries = new Listed[](9);
        for (uint256 i; i < 9; ++i) {
            entries[i] = Listed(sortedAgent(i / 3), uint16(today - 2 + i % 3));
        }
        Asked[] memory asked = new Asked[](1 + below(6));
        uint64[3] memory ends;
        for (uint256 i; i < 3; ++i) {
            ends[i] = debitedOf(accounts[i]);
        }
        for (uint256 i; i < asked.length; ++i) {
            uint256 account = below(3);
            asked[i].account = accounts[account];
            asked[i].before = below(8) == 0 ? uint64(below(ends[account] + 2)) : ends[account];
            asked[i].amount = uint64(below(4) == 0 ? below(3) : below(9e9));
            asked[i].root = bytes32(below(type(uint256).max));
            asked[i].parts = parts(asked[i].amount);
            ends[account] = asked[i].before + asked[i].amount;
        }
        uint256 ceiling = settlement.ceilingOn(today);
        if (settlement.paidNanoUsd(today) >= ceiling) raiseCeiling(uint96(ceiling += 1e9));
        ceiling = settlement.ceilingOn(today);
        IInferenceSettlement.Record[] memory expected = model.settle(today, ceiling, entries, asked);
        IInferenceSettlement.Record[] memory booked = settle(Chunks.encode(entries, asked));
        assertEq(keccak256(abi.encode(booked)), keccak256(abi.encode(expected)), "records");
        records += booked.length;
    }

    function parts(uint64 amount) private returns (AskedPart[] memory list) {
        list = new AskedPart[](below(4));
        for (uint256 i; i < list.length; ++i) {
            list[i] = AskedPart(uint8(below(9)), below(3) == 0 ? amount : uint64(below(uint256(amount) + 1)));
            amount -= list[i].amount;
        }
    }

    function compare() private view {
        uint256 owed = settlement.owedProviderNanoUsd();
        for (uint256 i; i < 3; ++i) {
            (uint256 activated, uint256 debited, uint256 served) = settlement.accountOf(accounts[i]);
            assertEq(activated, model.activated(accounts[i]));
            assertEq(debited, model.debited(accounts[i]));
            assertEq(served, model.servedTo(accounts[i]));
            uint256 back = settlement.owedBackNanoUsd(accounts[i]);
            assertEq(back + token.balanceOf(accounts[i]) * 1000, served / 10);
            (uint256 toSafe, uint256 toTreasury) = settlement.owedAgentNanoUsd(agents[i]);
            // Only the first agent's Safe is paid here.
            uint256 paid = i == 0 ? usdc.balanceOf(safe) * 1000 : 0;
            assertEq(toSafe + paid, model.servedBy(agents[i]) * 40 / 100);
            assertEq(toTreasury, model.servedBy(agents[i]) / 2);
            owed += back + toSafe + toTreasury;
            for (uint256 day = today - 2; day <= today; ++day) {
                assertEq(settlement.servedNanoUsd(agents[i], day), model.servedOn(agents[i], day));
            }
        }
        assertEq(settlement.owedProviderNanoUsd() + usdc.balanceOf(provider) * 1000, model.toProvider());
        assertEq(settlement.paidNanoUsd(today), model.paidOn(today));
        assertEq(settlement.totalDebitedNanoUsd(), model.totalDebited());
        assertLe(owed, settlement.totalOwedNanoUsd());
        assertLe(settlement.totalOwedNanoUsd() - owed, 9, "rounding");
        IInferenceSettlement.Books memory books = settlement.books();
        assertEq(books.backing, books.supply + books.credit + books.owed + books.lines, "books");
    }

    /// @dev The agents in ascending order of their addresses.
    function sortedAgent(uint256 rank) private view returns (address) {
        for (uint256 i; i < 3; ++i) {
            uint256 lower;
            for (uint256 j; j < 3; ++j) {
                if (agents[j] < agents[i]) ++lower;
            }
            if (lower == rank) return agents[i];
        }
        revert("no such rank");
    }

    function below(uint256 limit) private returns (uint256) {
        seed = uint256(keccak256(abi.encode(seed)));
        return seed % limit;
    }
}
