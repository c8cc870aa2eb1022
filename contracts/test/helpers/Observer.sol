// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IOFT} from "@layerzerolabs/oft-evm/contracts/interfaces/IOFT.sol";
import {Vm} from "forge-std/Vm.sol";

import {InferenceSettlement} from "../../src/InferenceSettlement.sol";
import {InferenceToken} from "../../src/InferenceToken.sol";
import {TokenMinter} from "../../src/TokenMinter.sol";
import {IInferenceSettlement} from "../../src/interfaces/IInferenceSettlement.sol";
import {ITokenBackingOutbox} from "../../src/interfaces/ITokenBackingOutbox.sol";
import {ITokenBridge} from "../../src/interfaces/ITokenBridge.sol";
import {ITokenMinter} from "../../src/interfaces/ITokenMinter.sol";
import {Chunks} from "./Chunks.sol";
import {IUsdc} from "./IUsdc.sol";
import {LayerZeroTools, Packet} from "./LayerZero.sol";
import {QuietUtils} from "./QuietUtils.sol";
import {ScriptedPool, ScriptedRegistry} from "./ScriptedAgents.sol";
import {Chain} from "./ThreeChains.sol";

/// @notice What passed through a chain, in token units.
struct Flow {
    /// @dev Dollars that the handler paid for par mints, and the amount issued for them.
    uint256 pulled;
    uint256 issued;
    /// @dev Messages from and to a secondary chain. Sent minus delivered is in flight or waiting.
    uint256 sentFrom;
    uint256 deliveredFrom;
    uint256 sentTo;
    uint256 deliveredTo;
    /// @dev Amounts that forged messages drew from its line, and minted on it.
    uint256 forgedFrom;
    uint256 forgedTo;
    /// @dev Dollars flushed from its outbox, arrived in its inbox, gifted to its inbox, and booked.
    uint256 flushed;
    uint256 landed;
    uint256 inboxGifts;
    uint256 booked;
    /// @dev Its line, computed from the events.
    uint256 line;
    uint256 gifted;
}

/// @notice A message that arrived and is not covered yet.
struct Held {
    bytes32 guid;
    uint256 chain;
    uint32 srcEid;
    ITokenBridge.Message message;
}

/// @notice The state computed from every event of the three chains, and any error found in them.
abstract contract Observer is LayerZeroTools, QuietUtils {
    IUsdc internal immutable USDC;
    InferenceToken internal immutable TOKEN;
    TokenMinter internal immutable MINTER;
    InferenceSettlement internal immutable SETTLEMENT;
    ScriptedPool internal immutable POOL;
    ScriptedRegistry internal immutable REGISTRY;

    /// @dev The primary chain, followed by the two secondary chains.
    Chain[3] internal chains;

    mapping(uint256 chain => Flow) internal flows;
    mapping(bytes32 guid => bool) internal wasSent;
    mapping(bytes32 guid => bool) internal wasDelivered;
    mapping(uint256 chain => mapping(uint256 day => uint256)) internal mintedInto;
    /// @dev The totals of accounts and agents, computed from the events.
    mapping(address account => uint256) internal activatedOf;
    mapping(address account => uint256) internal debitedFrom;
    mapping(address account => uint256) internal servedTo;
    mapping(address agent => uint256) internal servedBy;
    mapping(uint256 day => uint256) internal paidOn;
    /// @dev The last day on which the ceiling changed, and the ceiling with which the day before had ended.
    uint256 private ceilingDay;
    uint256 private ceilingAtMidnight;
    mapping(address agent => mapping(uint256 day => uint256)) internal servedOn;

    Packet[] internal packets;
    Held[] internal held;

    uint256 public lastId;
    uint256 public announcedTotal;
    uint256 public chunks;
    uint256 public debited;
    uint256 public paidOut;
    /// @notice What was minted back to requesters, in nano-dollars.
    uint256 public mintedBack;
    /// @dev What flushes took from each outbox, cost included, in token units.
    uint256[3] internal takenOut;

    /// @notice The errors found.
    uint256 public backingLosses;
    uint256 public outboxLosses;
    uint256 public wrongAnnouncements;
    uint256 public wrongChunks;
    uint256 public doubleDeliveries;
    uint256 public giftBreaches;
    uint256 public capBreaches;
    uint256 public ceilingBreaches;
    uint256 public capacityBreaches;

    constructor(InferenceSettlement settlement, ScriptedPool pool, ScriptedRegistry registry, Chain[3] memory all) {
        (SETTLEMENT, POOL, REGISTRY) = (settlement, pool, registry);
        (USDC, TOKEN, MINTER) = (IUsdc(address(all[0].dollar)), all[0].token, all[0].minter);
        for (uint256 i; i < 3; ++i) {
            chains[i] = all[i];
        }
        vm.recordLogs();
    }

    modifier observed() {
        uint256 backingBefore = MINTER.backing() + paidOut;
        uint256[3] memory outboxBefore = outboxes();
        _;
        readLogs(vm.getRecordedLogs());
        if (MINTER.backing() + paidOut < backingBefore) backingLosses++;
        uint256[3] memory outboxAfter = outboxes();
        for (uint256 i = 1; i < 3; ++i) {
            if (outboxAfter[i] < outboxBefore[i]) outboxLosses++;
        }
    }

    function flowOf(uint256 chain) external view returns (Flow memory) {
        return flows[chain];
    }

    /// @dev The dollars of each outbox, plus what flushes took from it. Decreases only if something else takes dollars.
    function outboxes() private view returns (uint256[3] memory dollars) {
        for (uint256 i = 1; i < 3; ++i) {
            Chain storage chain = chains[i];
            dollars[i] = chain.dollar.balanceOf(address(chain.outbox)) / chain.outbox.SCALE() + takenOut[i];
        }
    }

    /* LOGS */

    function readLogs(Vm.Log[] memory logs) private {
        Packet[] memory found = packetsIn(logs);
        for (uint256 i; i < found.length; ++i) {
            packets.push(found[i]);
        }
        for (uint256 i; i < logs.length; ++i) {
            address emitter = logs[i].emitter;
            if (emitter == address(SETTLEMENT)) readSettlement(logs[i]);
            else if (emitter == address(chains[0].pool)) readPool(logs[i]);
            for (uint256 chain; chain < 3; ++chain) {
                if (emitter == address(chains[chain].bridge)) readBridge(logs[i], chain);
                else if (emitter == address(chains[chain].minter)) readMinter(logs[i], chain);
                else if (emitter == address(chains[chain].outbox)) readOutbox(logs[i], chain);
            }
        }
    }

    function readSettlement(Vm.Log memory log) private {
        bytes32 topic = log.topics[0];
        if (topic == IInferenceSettlement.Activated.selector) readActivated(log);
        else if (topic == IInferenceSettlement.Settled.selector) readSettled(log);
        else if (topic == IInferenceSettlement.CeilingChanged.selector) readCeiling(log);
    }

    function readActivated(Vm.Log memory log) private {
        (uint256 amount, uint256 total, uint256 activated,,) =
            abi.decode(log.data, (uint256, uint256, uint256, uint32, bytes32));
        bool follows = uint256(log.topics[1]) == lastId + 1 && total == announcedTotal + amount;
        uint256 activatedSeen = activatedOf[address(uint160(uint256(log.topics[2])))] += amount * 1000;
        if (!follows || activated != activatedSeen) wrongAnnouncements++;
        lastId = uint256(log.topics[1]);
        announcedTotal = total;
    }

    function readSettled(Vm.Log memory log) private {
        (uint256 amount, uint256 paidAfter, uint256 total, bytes memory data) =
            abi.decode(log.data, (uint256, uint256, uint256, bytes));
        uint256 day = uint256(log.topics[1]);
        IInferenceSettlement.Record[] memory records = Chunks.decode(data);
        chunks++;
        debited += amount;
        paidOn[day] += amount;
        for (uint256 i; i < records.length; ++i) {
            readRecord(records[i]);
            amount -= records[i].amountNanoUsd;
        }
        bool isStored = SETTLEMENT.blockOf(log.topics[2]) == block.number && records.length != 0
            && log.topics[2] == Chunks.rootOf(Chunks.leavesOf(records));
        if (amount != 0 || total != debited || paidAfter != paidOn[day] || !isStored) wrongChunks++;
        uint256 today = block.timestamp / 1 days;
        bool isRaised = day != today && ceilingDay == today && ceilingAtMidnight < SETTLEMENT.ceilingNanoUsd();
        if (paidOn[day] > (isRaised ? ceilingAtMidnight : SETTLEMENT.ceilingNanoUsd())) ceilingBreaches++;
    }

    function readRecord(IInferenceSettlement.Record memory record) private {
        if (record.amountNanoUsd == 0 || record.beforeNanoUsd != debitedFrom[record.account]) wrongChunks++;
        debitedFrom[record.account] += record.amountNanoUsd;
        if (debitedFrom[record.account] > activatedOf[record.account]) wrongChunks++;
        for (uint256 i; i < record.parts.length; ++i) {
            IInferenceSettlement.Part memory part = record.parts[i];
            servedTo[record.account] += part.amountNanoUsd;
            servedBy[part.agent] += part.amountNanoUsd;
            servedOn[part.agent][part.day] += part.amountNanoUsd;
            if (servedOn[part.agent][part.day] > POOL.capacityOn(part.agent, part.day)) capacityBreaches++;
        }
    }

    function readCeiling(Vm.Log memory log) private {
        if (ceilingDay == block.timestamp / 1 days) return;
        ceilingDay = block.timestamp / 1 days;
        (ceilingAtMidnight,) = abi.decode(log.data, (uint256, uint256));
    }

    function readMinter(Vm.Log memory log, uint256 chain) private {
        bytes32 topic = log.topics[0];
        bool isMint = topic == ITokenMinter.Minted.selector || topic == ITokenMinter.MintedAndActivated.selector;
        if (isMint) flows[chain].issued += uint256(word(log.data, 0));
        else if (topic == ITokenMinter.PaidOut.selector) paidOut += uint256(word(log.data, 0));
        else if (topic == ITokenMinter.MintedBack.selector) mintedBack += uint256(word(log.data, 0)) * 1000;
        else if (topic == ITokenMinter.Booked.selector) readBooked(log);
        else if (topic == ITokenMinter.FloatFunded.selector) readFloatFunded(log);
    }

    function readBooked(Vm.Log memory log) private {
        Flow storage flow = flows[chainOf(uint32(uint256(log.topics[1])))];
        flow.booked += uint256(word(log.data, 0));
        flow.line += uint256(word(log.data, 0));
    }

    function readFloatFunded(Vm.Log memory log) private {
        Flow storage flow = flows[chainOf(uint32(uint256(log.topics[2])))];
        flow.gifted += uint256(word(log.data, 0));
        flow.line += uint256(word(log.data, 0));
    }

    function readBridge(Vm.Log memory log, uint256 chain) private {
        bytes32 topic = log.topics[0];
        bool isSent = topic == ITokenBridge.Sent.selector;
        if (!isSent && topic != ITokenBridge.Delivered.selector && topic != ITokenBridge.Waiting.selector) return;
        ITokenBridge.Message memory message = abi.decode(log.data, (ITokenBridge.Message));
        uint256 other = chainOf(uint32(uint256(log.topics[2])));
        if (isSent) readSent(log.topics[1], chain, other, message.amount);
        else if (topic == ITokenBridge.Delivered.selector) readDelivered(log.topics[1], chain, other, message);
        else held.push(Held(log.topics[1], chain, uint32(uint256(log.topics[2])), message));
    }

    function readSent(bytes32 guid, uint256 chain, uint256 to, uint256 amount) private {
        wasSent[guid] = true;
        if (chain != 0) {
            flows[chain].sentFrom += amount;
            uint256 minted = mintedInto[chain][block.timestamp / 1 days];
            mintedInto[chain][block.timestamp / 1 days] = amount < minted ? minted - amount : 0;
        } else {
            (flows[to].sentTo, flows[to].line) = (flows[to].sentTo + amount, flows[to].line + amount);
        }
    }

    function readDelivered(bytes32 guid, uint256 chain, uint256 from, ITokenBridge.Message memory message) private {
        if (wasDelivered[guid]) doubleDeliveries++;
        wasDelivered[guid] = true;
        if (chain == 0) readArrival(guid, from, message);
        else readMintInto(guid, chain, message.amount);
    }

    function readArrival(bytes32 guid, uint256 from, ITokenBridge.Message memory message) private {
        Flow storage flow = flows[from];
        if (wasSent[guid]) flow.deliveredFrom += message.amount;
        else flow.forgedFrom += message.amount;
        flow.line -= message.amount;
        if (message.kind == ITokenBridge.Kind.Transfer && flow.line < flow.gifted) giftBreaches++;
    }

    function readMintInto(bytes32 guid, uint256 chain, uint256 amount) private {
        if (wasSent[guid]) flows[chain].deliveredTo += amount;
        else flows[chain].forgedTo += amount;
        mintedInto[chain][block.timestamp / 1 days] += amount;
        if (mintedInto[chain][block.timestamp / 1 days] > chains[chain].bridge.DAILY_MINT_CAP()) capBreaches++;
    }

    function readOutbox(Vm.Log memory log, uint256 chain) private {
        if (log.topics[0] != ITokenBackingOutbox.Flushed.selector) return;
        (uint256 amount, uint256 cost,,) = abi.decode(log.data, (uint256, uint256, uint256, uint256));
        flows[chain].flushed += amount;
        takenOut[chain] += amount + cost;
    }

    function readPool(Vm.Log memory log) private {
        if (log.topics[0] != IOFT.OFTReceived.selector) return;
        (uint32 srcEid, uint256 amount) = abi.decode(log.data, (uint32, uint256));
        flows[chainOf(srcEid)].landed += amount / MINTER.SCALE();
    }

    function chainOf(uint32 eid) internal view returns (uint256 chain) {
        while (chains[chain].lz.eid != eid) ++chain;
    }
}
