// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {InferenceSettlement} from "../../src/InferenceSettlement.sol";
import {BridgeHandler} from "./BridgeHandler.sol";
import {Asked, AskedPart, Chunks, Listed} from "./Chunks.sol";
import {Held} from "./Observer.sol";
import {PrimaryHandler} from "./PrimaryHandler.sol";
import {ScriptedPool, ScriptedRegistry} from "./ScriptedAgents.sol";
import {Chain} from "./ThreeChains.sol";

/// @notice All actions on the three chains: those open to anyone, chunks, payments and the ceiling.
contract Handler is BridgeHandler {
    using SafeCast for uint256;

    address[] public agents;

    constructor(InferenceSettlement settlement, ScriptedPool pool, ScriptedRegistry registry, Chain[3] memory all)
        PrimaryHandler(settlement, pool, registry, all)
    {
        for (uint256 i; i < 2; ++i) {
            agents.push(makeAddr(string.concat("agent ", vm.toString(i))));
            address safe = makeAddr(string.concat("safe ", vm.toString(i)));
            registry.setAgent(agents[i], safe, makeAddr(string.concat("treasury ", vm.toString(i))));
        }
    }

    /* CHUNKS */

    /// @dev Records that credit and ceiling may not cover, and some that start at another total.
    function settle(uint256 accountSeed, uint256 amount, uint256 entries, uint256 misses, bool yesterday)
        external
        observed
    {
        Asked[] memory records = new Asked[](bound(entries, 1, actors.length));
        for (uint256 i; i < records.length; ++i) {
            records[i] = ask(actorOf(accountSeed % actors.length + i), bound(amount, 0, 70e9));
            if (misses % 7 == i) records[i].before += 1;
        }
        post(dayOf(yesterday), new Listed[](0), records);
    }

    function settleServed(uint256 accountSeed, uint256 agentSeed, uint256 amount, uint256 age, bool yesterday)
        external
        observed
    {
        address agent = agents[agentSeed % agents.length];
        uint256 day = block.timestamp / 1 days - age % 6;
        if (POOL.capacityOn(agent, day) == 0) POOL.setCapacity(agent, day, 1 + agentSeed % 30e9);
        Listed[] memory table = new Listed[](1);
        table[0] = Listed(agent, uint16(day));
        Asked[] memory records = new Asked[](1);
        records[0] = ask(actorOf(accountSeed), bound(amount, 0, 40e9));
        records[0].parts = new AskedPart[](2);
        records[0].parts[0].amount = records[0].amount / 3;
        records[0].parts[1].amount = records[0].amount / 2;
        post(dayOf(yesterday), table, records);
    }

    function pay(uint256 payee, uint256 agentSeed) external observed {
        address agent = agents[agentSeed % agents.length];
        (uint256 safe, uint256 treasury) = SETTLEMENT.owedAgentNanoUsd(agent);
        address account = actorOf(agentSeed);
        if (payee % 4 == 0 && SETTLEMENT.owedProviderNanoUsd() >= 1000) SETTLEMENT.payProvider();
        if (payee % 4 == 1 && safe >= 1000) SETTLEMENT.paySafe(agent);
        if (payee % 4 == 2 && treasury >= 1000) SETTLEMENT.payTreasury(agent);
        if (payee % 4 == 3 && SETTLEMENT.owedBackNanoUsd(account) >= 1000) SETTLEMENT.payBack(account);
    }

    function changeCeiling(uint256 to, bool up) external observed {
        uint96 current = SETTLEMENT.ceilingNanoUsd();
        if (up) {
            vm.prank(SETTLEMENT.TIMELOCK());
            SETTLEMENT.raiseCeiling(current + uint96(bound(to, 1, 50e9)));
        } else if (current != 0) {
            vm.prank(SETTLEMENT.guardian());
            SETTLEMENT.lowerCeiling(uint96(bound(to, 0, current - 1)));
        }
    }

    /// @dev Not for fuzzing: lets a mutant act while the observer records.
    function callObserved(address target, bytes calldata data) external observed {
        (bool ok,) = target.call(data);
        require(ok, "call failed");
    }

    /* OBSERVED STATE */

    function heldAt(uint256 index) external view returns (Held memory) {
        return held[index];
    }

    function guidOf(uint256 packet) external view returns (bytes32) {
        return packets[packet].guid;
    }

    /* SUMS */

    function creditSumNanoUsd() external view returns (uint256 sum) {
        for (uint256 i; i < actors.length; ++i) {
            sum += SETTLEMENT.creditNanoUsd(actors[i]);
        }
    }

    /// @dev Whether the totals of each account match the events.
    function accountsAgree() external view returns (bool agree) {
        agree = true;
        for (uint256 i; i < actors.length; ++i) {
            (uint256 activated, uint256 debitedNow, uint256 served) = SETTLEMENT.accountOf(actors[i]);
            agree = agree && activated == activatedOf[actors[i]] && debitedNow == debitedFrom[actors[i]]
                && served == servedTo[actors[i]];
        }
    }

    function owedBackSumNanoUsd() public view returns (uint256 sum) {
        for (uint256 i; i < actors.length; ++i) {
            sum += SETTLEMENT.owedBackNanoUsd(actors[i]);
        }
    }

    /// @dev All amounts owed, with the fractions that rounding kept from agents and accounts, computed from the events.
    function owedSumNanoUsd() external view returns (uint256 sum) {
        sum = SETTLEMENT.owedProviderNanoUsd() + owedBackSumNanoUsd();
        for (uint256 i; i < agents.length; ++i) {
            (uint256 safe, uint256 treasury) = SETTLEMENT.owedAgentNanoUsd(agents[i]);
            uint256 served = servedBy[agents[i]];
            sum += safe + treasury + served - served * 40 / 100 - served * 50 / 100;
        }
        sum -= backDue();
    }

    /// @notice A tenth of what agents served each account, computed from the events.
    function backDue() public view returns (uint256 sum) {
        for (uint256 i; i < actors.length; ++i) {
            sum += servedTo[actors[i]] / 10;
        }
    }

    function tokenSum(uint256 chain) external view returns (uint256 sum) {
        for (uint256 i; i < actors.length; ++i) {
            sum += chains[chain].token.balanceOf(actors[i]);
        }
    }

    /// @dev Whether the debits of days and the uses of agents match the events.
    function booksOfDaysAgree() external view returns (bool agree) {
        uint256 today = block.timestamp / 1 days;
        agree = true;
        for (uint256 day = today - 8; day <= today; ++day) {
            agree = agree && SETTLEMENT.paidNanoUsd(day) == paidOn[day];
            for (uint256 i; i < agents.length; ++i) {
                agree = agree && SETTLEMENT.servedNanoUsd(agents[i], day) == servedOn[agents[i]][day];
            }
        }
    }

    /* HELPERS */

    function dayOf(bool yesterday) private view returns (uint256 day) {
        day = block.timestamp / 1 days;
        if (yesterday && block.timestamp % 1 days < 6 hours) --day;
    }

    function debitedOf(address account) private view returns (uint256 debitedNow) {
        (, debitedNow,) = SETTLEMENT.accountOf(account);
    }

    function ask(address account, uint256 amount) private view returns (Asked memory asked) {
        (asked.account, asked.before, asked.amount) = (account, debitedOf(account).toUint64(), amount.toUint64());
        asked.root = keccak256(abi.encode(account, asked.before));
    }

    function post(uint256 day, Listed[] memory table, Asked[] memory records) private {
        if (leftOn(day) == 0) return;
        vm.prank(SETTLEMENT.settler());
        SETTLEMENT.settle(uint32(day), Chunks.encode(table, records));
    }

    function leftOn(uint256 day) private view returns (uint256) {
        (uint256 ceiling, uint256 paid) = (SETTLEMENT.ceilingOn(day), SETTLEMENT.paidNanoUsd(day));
        return paid < ceiling ? ceiling - paid : 0;
    }
}
