// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {InferenceSettlement} from "../../src/InferenceSettlement.sol";
import {IInferenceSettlement} from "../../src/interfaces/IInferenceSettlement.sol";
import {IInferenceToken} from "../../src/interfaces/IInferenceToken.sol";
import {ITokenBackingOutbox} from "../../src/interfaces/ITokenBackingOutbox.sol";
import {ITokenBridge} from "../../src/interfaces/ITokenBridge.sol";
import {ITokenMinter} from "../../src/interfaces/ITokenMinter.sol";
import {BridgeHandler} from "./BridgeHandler.sol";
import {Held} from "./Observer.sol";
import {PrimaryHandler} from "./PrimaryHandler.sol";
import {ScriptedPool, ScriptedRegistry} from "./ScriptedAgents.sol";
import {Chain} from "./ThreeChains.sol";

/// @notice All actions on the three chains: those open to anyone, batches, payments and the ceiling; and attempts that
/// must fail.
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

    /* BATCHES */

    function settle(uint256 accountSeed, uint256 amount, uint256 entries, bool yesterday) external observed {
        IInferenceSettlement.Batch memory batch = newBatch(yesterday);
        uint256 left = leftOn(batch.day);
        entries = bound(entries, 1, actors.length);
        batch.debits = new IInferenceSettlement.Debit[](entries);
        for (uint256 i; i < entries; ++i) {
            address account = actorOf(accountSeed % actors.length + i);
            uint256 part = bound(amount, 0, least(left, SETTLEMENT.creditNanoUsd(account)));
            batch.debits[i] = IInferenceSettlement.Debit(account, part.toUint96());
            left -= part;
        }
        post(batch);
    }

    function settleServed(uint256 accountSeed, uint256 agentSeed, uint256 amount, uint256 age, bool yesterday)
        external
        observed
    {
        IInferenceSettlement.Batch memory batch = newBatch(yesterday);
        address account = actorOf(accountSeed);
        address agent = agents[agentSeed % agents.length];
        uint256 day = batch.day + 1 - age % 6;
        if (POOL.capacityOn(agent, day) == 0) POOL.setCapacity(agent, day, 1 + agentSeed % 30e9);
        uint256 most = least(leftOn(batch.day), SETTLEMENT.creditNanoUsd(account));
        most = least(most, POOL.capacityOn(agent, day) - SETTLEMENT.servedNanoUsd(agent, day));
        batch.serves = new IInferenceSettlement.Serve[](1);
        batch.serves[0] = IInferenceSettlement.Serve(agent, account, day.toUint32(), bound(amount, 0, most).toUint96());
        if (day <= batch.day && day + 3 >= batch.day) post(batch);
        else refuse(batch, abi.encodeWithSelector(IInferenceSettlement.WrongDay.selector, day, batch.day));
    }

    /// @dev A batch that exceeds what a day, an account or an agent has left reverts.
    function settleTooMuch(uint256 accountSeed, uint256 agentSeed, uint256 excess) external observed {
        IInferenceSettlement.Batch memory batch = newBatch(false);
        address account = actorOf(accountSeed);
        address agent = agents[agentSeed % agents.length];
        excess = bound(excess, 1, 1e12);
        uint256 kind = excess % 3;
        if (kind == 0) {
            batch.debits = new IInferenceSettlement.Debit[](1);
            batch.debits[0] = IInferenceSettlement.Debit(account, (leftOn(batch.day) + excess).toUint96());
        } else if (kind == 1) {
            batch.debits = new IInferenceSettlement.Debit[](1);
            batch.debits[0] =
                IInferenceSettlement.Debit(account, (SETTLEMENT.creditNanoUsd(account) + excess).toUint96());
        } else {
            batch.serves = new IInferenceSettlement.Serve[](1);
            uint256 left = POOL.capacityOn(agent, batch.day) - SETTLEMENT.servedNanoUsd(agent, batch.day);
            batch.serves[0] =
                IInferenceSettlement.Serve(agent, account, batch.day.toUint32(), (left + excess).toUint96());
        }
        refuse(batch, "");
    }

    function pay(uint256 payee, uint256 agentSeed) external observed {
        address agent = agents[agentSeed % agents.length];
        (uint256 safe, uint256 treasury) = SETTLEMENT.owedAgentNanoUsd(agent);
        if (payee % 3 == 0 && SETTLEMENT.owedProviderNanoUsd() >= 1000) SETTLEMENT.payProvider();
        if (payee % 3 == 1 && safe >= 1000) SETTLEMENT.paySafe(agent);
        if (payee % 3 == 2 && treasury >= 1000) SETTLEMENT.payTreasury(agent);
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

    /* ATTEMPTS THAT MUST FAIL */

    function tryWithoutRight(uint256 callerSeed, uint256 amount, uint256 chainSeed) external observed {
        address caller = actorOf(callerSeed);
        Chain storage secondary = chains[secondaryOf(chainSeed)];
        IInferenceSettlement.Batch memory batch = newBatch(false);
        uint32 eid = secondary.lz.eid;
        vm.startPrank(caller);
        vm.expectRevert(ITokenMinter.OnlySettlement.selector);
        MINTER.payOut(caller, amount);
        vm.expectRevert(ITokenMinter.OnlySettlement.selector);
        MINTER.mintBack(caller, amount);
        vm.expectRevert(ITokenMinter.OnlyBridge.selector);
        MINTER.raiseLine(eid, amount);
        vm.expectRevert(ITokenMinter.OnlyBridge.selector);
        MINTER.drawLine(eid, amount, true);
        vm.expectRevert(IInferenceToken.OnlyMinter.selector);
        TOKEN.mint(caller, amount);
        vm.expectRevert(IInferenceToken.OnlySettlement.selector);
        TOKEN.burn(actorOf(amount), amount);
        vm.expectRevert(IInferenceToken.OnlyBridge.selector);
        TOKEN.crosschainMint(caller, amount);
        vm.expectRevert(IInferenceToken.OnlyBridge.selector);
        secondary.token.crosschainBurn(actorOf(amount), amount);
        vm.expectRevert(IInferenceSettlement.OnlyMinter.selector);
        SETTLEMENT.activateMinted(amount, caller, caller);
        vm.expectRevert(IInferenceSettlement.OnlyBridge.selector);
        SETTLEMENT.activateBridged(amount, caller, caller, eid, 0);
        vm.expectRevert(IInferenceSettlement.OnlySettler.selector);
        SETTLEMENT.settle(batch);
        vm.expectRevert(ITokenBackingOutbox.OnlyMinter.selector);
        secondary.outbox.onMint(amount);
        vm.expectRevert(ITokenBridge.PeersAreFixed.selector);
        secondary.bridge.setPeer(eid, bytes32(uint256(uint160(caller))));
        vm.stopPrank();
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

    /// @dev Whether the credit of each account matches the events.
    function creditsAgree() external view returns (bool agree) {
        agree = true;
        for (uint256 i; i < actors.length; ++i) {
            uint256 seen = creditOf[bytes32(uint256(uint160(actors[i])))];
            agree = agree && seen == SETTLEMENT.creditNanoUsd(actors[i]);
        }
    }

    function owedBackSumNanoUsd() public view returns (uint256 sum) {
        for (uint256 i; i < actors.length; ++i) {
            sum += SETTLEMENT.owedBackNanoUsd(actors[i]);
        }
    }

    function owedSumNanoUsd() external view returns (uint256 sum) {
        sum = SETTLEMENT.owedProviderNanoUsd() + owedBackSumNanoUsd();
        for (uint256 i; i < agents.length; ++i) {
            (uint256 safe, uint256 treasury) = SETTLEMENT.owedAgentNanoUsd(agents[i]);
            sum += safe + treasury;
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
        for (uint256 day = today - 4; day <= today; ++day) {
            agree = agree && SETTLEMENT.paidNanoUsd(day) == paidOn[day];
            for (uint256 i; i < agents.length; ++i) {
                agree = agree && SETTLEMENT.servedNanoUsd(agents[i], day) == servedOn[agents[i]][day];
            }
        }
    }

    /* HELPERS */

    function newBatch(bool yesterday) private view returns (IInferenceSettlement.Batch memory batch) {
        batch.id = SETTLEMENT.batchCount() + 1;
        batch.day = block.timestamp / 1 days;
        batch.root = keccak256(abi.encode(batch.id));
        if (yesterday && block.timestamp % 1 days < 6 hours) --batch.day;
    }

    function post(IInferenceSettlement.Batch memory batch) private {
        // If the ceiling was lowered below the amount already debited, even a batch of zero reverts.
        if (SETTLEMENT.paidNanoUsd(batch.day) > SETTLEMENT.ceilingOn(batch.day)) return;
        vm.prank(SETTLEMENT.settler());
        SETTLEMENT.settle(batch);
    }

    /// @dev The batch reverts, with this reason unless it is empty.
    function refuse(IInferenceSettlement.Batch memory batch, bytes memory reason) private {
        vm.startPrank(SETTLEMENT.settler());
        if (reason.length == 0) vm.expectRevert();
        else vm.expectRevert(reason);
        SETTLEMENT.settle(batch);
        vm.stopPrank();
        // Recorded logs include the events of the call that reverted; discard them.
        vm.getRecordedLogs();
    }

    function leftOn(uint256 day) private view returns (uint256) {
        (uint256 ceiling, uint256 paid) = (SETTLEMENT.ceilingOn(day), SETTLEMENT.paidNanoUsd(day));
        return paid < ceiling ? ceiling - paid : 0;
    }

    function least(uint256 a, uint256 b) private pure returns (uint256) {
        return a < b ? a : b;
    }
}
