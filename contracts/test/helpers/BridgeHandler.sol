// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {TokenBackingOutbox} from "../../src/TokenBackingOutbox.sol";
import {TokenBridge} from "../../src/TokenBridge.sol";
import {ITokenBridge} from "../../src/interfaces/ITokenBridge.sol";
import {MessageCodec} from "../../src/libraries/MessageCodec.sol";
import {PlainDollar} from "./Dollars.sol";
import {IUln302, LayerZero, Packet} from "./LayerZero.sol";
import {Held} from "./Observer.sol";
import {PrimaryHandler} from "./PrimaryHandler.sol";
import {Chain} from "./ThreeChains.sol";

/// @notice Actions between the chains: messages are sent, delivered in any order, replayed, forged or never delivered;
/// dollars are pending, in flight or booked.
abstract contract BridgeHandler is PrimaryHandler {
    using SafeCast for uint256;

    uint256 internal constant SMALL = 30_000e6;

    uint256 private lies;
    mapping(uint256 packet => bool) private isVerified;
    mapping(uint256 packet => bool) private isDone;
    /// @dev Paths and nonces that a forged packet used up, so the true packet can never be delivered.
    mapping(bytes32 header => bool) private isTaken;

    /* TOKENS */

    function mintOnSecondary(uint256 chainSeed, uint256 payerSeed, uint256 toSeed, uint256 amount) external observed {
        uint256 index = secondaryOf(chainSeed);
        Chain storage chain = chains[index];
        amount = bound(amount, 1, SMALL);
        address payer = actorOf(payerSeed);
        flows[index].pulled += amount;
        giveDollars(chain, payer, amount);
        vm.startPrank(payer);
        chain.dollar.approve(address(chain.minter), amount * chain.minter.SCALE());
        chain.minter.mint(amount, actorOf(toSeed));
        vm.stopPrank();
    }

    function bridge(uint256 chainSeed, uint256 whoSeed, uint256 toSeed, uint256 amount, bool out) external observed {
        uint256 secondary = secondaryOf(chainSeed);
        Chain storage from = chains[out ? 0 : secondary];
        uint32 dstEid = chains[out ? secondary : 0].lz.eid;
        address who = holderOf(from, whoSeed);
        amount = amountOf(from, who, amount);
        if (amount == 0 || block.timestamp < from.bridge.pausedUntil()) return;
        uint256 fee = payable_(who, from.bridge, dstEid);
        vm.prank(who);
        from.bridge.bridge{value: fee}(dstEid, amount, actorOf(toSeed), who);
    }

    function activateOnBase(uint256 chainSeed, uint256 whoSeed, uint256 accountSeed, uint256 amount) external observed {
        Chain storage from = chains[secondaryOf(chainSeed)];
        address who = holderOf(from, whoSeed);
        amount = amountOf(from, who, amount);
        if (amount == 0 || block.timestamp < from.bridge.pausedUntil()) return;
        uint256 fee = payable_(who, from.bridge, chains[0].lz.eid);
        vm.prank(who);
        from.bridge.activateOnBase{value: fee}(amount, actorOf(accountSeed), who);
    }

    /* MESSAGES */

    /// @dev Delivers any packets that were sent, in any order, including those of the dollar bridge.
    function relay(uint256 packetSeed, uint256 count) external observed {
        count = bound(count, 1, 3);
        for (uint256 i; i < count; ++i) {
            uint256 index = unfinished(packetSeed);
            if (index == packets.length || isPaused(packets[index])) return;
            verifyUpTo(index);
            isDone[index] = true;
            execute(lzOf(packets[index].dstEid), packets[index]);
        }
    }

    /// @dev Verifying and executing a packet again has no effect.
    function relayTwice(uint256 packetSeed) external observed {
        if (packets.length == 0) return;
        uint256 index = packetSeed % packets.length;
        if (!isDone[index]) return;
        Packet memory packet = packets[index];
        LayerZero memory lz = lzOf(packet.dstEid);
        (bool executed,) = address(this).call(abi.encodeCall(this.executeOn, (packet)));
        require(!executed, "executed twice");
        verifyAs(lz, 0, packet);
        verifyAs(lz, 1, packet);
        (bool committed,) = address(this).call(abi.encodeCall(this.commitOn, (packet)));
        require(!committed, "committed twice");
    }

    /// @dev One verifier alone cannot get a message delivered, whether true or forged.
    function lieAlone(uint256 chainSeed, uint256 toSeed, uint256 amount, bool out, bool first) external observed {
        Packet memory packet = forged(chainSeed, toSeed, bound(amount, 1, MAX), out, ITokenBridge.Kind.Transfer);
        LayerZero memory lz = lzOf(packet.dstEid);
        verifyAs(lz, first ? 0 : 1, packet);
        vm.expectRevert(IUln302.LZ_ULN_Verifying.selector);
        commit(lz, packet);
    }

    /// @dev Both verifiers together can, up to the line or the cap. Used rarely, because each forged message blocks a
    /// true one.
    function lieTogether(uint256 chainSeed, uint256 toSeed, uint256 amount, bool out, bool activated)
        external
        observed
    {
        ITokenBridge.Kind kind = activated && !out ? ITokenBridge.Kind.Activation : ITokenBridge.Kind.Transfer;
        Packet memory packet = forged(chainSeed, toSeed, bound(amount, 1, SMALL), out, kind);
        if (amount % 4 != 0 || isPaused(packet)) return;
        isTaken[keccak256(packet.header)] = true;
        relay(lzOf(packet.dstEid), packet);
    }

    /// @dev Delivers a covered waiting message once.
    function deliver(uint256 seed) external observed {
        if (held.length == 0) return;
        Held memory message = held[seed % held.length];
        TokenBridge to = chains[message.chain].bridge;
        if (block.timestamp < to.pausedUntil()) return;
        bool done = wasDelivered[message.guid];
        bool covered = isCovered(message);
        bytes4 reason = done ? ITokenBridge.NotWaiting.selector : ITokenBridge.NotCovered.selector;
        if (!done && !isNext(message)) reason = ITokenBridge.NotNext.selector;
        if (done || !isNext(message) || !covered) vm.expectRevert(abi.encodeWithSelector(reason, message.guid));
        to.deliver(message.guid, message.srcEid, message.message);
    }

    function pause(uint256 chainSeed, uint256 duration) external observed {
        if (duration % 4 != 0) return;
        TokenBridge target = chains[chainSeed % 3].bridge;
        vm.startPrank(target.guardian());
        target.pause(block.timestamp + bound(duration, 0, 2 hours));
        vm.stopPrank();
    }

    /* DOLLARS */

    function flush(uint256 chainSeed, uint256 most, bool patient) external observed {
        TokenBackingOutbox outbox = chains[secondaryOf(chainSeed)].outbox;
        if (patient) vm.warp(block.timestamp + 1 hours);
        (uint256 amount, uint256 fee, uint256 cost) = outbox.quoteFlush(most);
        bool due = amount >= 10e6 || (amount != 0 && block.timestamp >= outbox.pendingSince() + 1 days);
        bool early = block.timestamp < outbox.nextFlushAt();
        bool tooExpensive = cost > amount * 30 / 10_000 || cost > outbox.costReserve();
        vm.deal(address(this), fee);
        if (early || !due || tooExpensive) vm.expectRevert();
        outbox.flush{value: fee}(most);
    }

    function book(uint256 chainSeed) external observed {
        uint32 eid = chains[secondaryOf(chainSeed)].lz.eid;
        if (USDC.balanceOf(MINTER.inboxOf(eid)) == 0) return;
        MINTER.book(eid);
    }

    function fundFloat(uint256 chainSeed, uint256 amount) external observed {
        amount = bound(amount, 1, 1_000e6);
        giveDollars(chains[0], address(this), amount);
        USDC.approve(address(MINTER), amount * MINTER.SCALE());
        MINTER.fundFloat(chains[secondaryOf(chainSeed)].lz.eid, amount);
    }

    /// @dev Sends dollars to minter, inbox or outbox. A plain transfer has a different meaning in each.
    function giftDollars(uint256 chainSeed, uint256 amount, uint256 where) external observed {
        uint256 index = secondaryOf(chainSeed);
        amount = bound(amount, 1, 100e6);
        if (where % 3 == 0) giveDollars(chains[0], address(MINTER), amount);
        if (where % 3 == 1) giveDollars(chains[index], address(chains[index].outbox), amount);
        if (where % 3 == 2) {
            giveDollars(chains[0], MINTER.inboxOf(chains[index].lz.eid), amount);
            flows[index].inboxGifts += amount;
        }
    }

    function setDollarBridgeFee(uint256 chainSeed, uint256 bps) external observed {
        chains[secondaryOf(chainSeed)].pool.setFee(bound(bps, 0, 40), 0);
    }

    function wait(uint256 duration) external observed {
        vm.warp(block.timestamp + bound(duration, 1, 12 hours));
    }

    /* HELPERS */

    function executeOn(Packet memory packet) external {
        execute(lzOf(packet.dstEid), packet);
    }

    function commitOn(Packet memory packet) external {
        commit(lzOf(packet.dstEid), packet);
    }

    function secondaryOf(uint256 seed) internal pure returns (uint256) {
        return 1 + seed % 2;
    }

    function lzOf(uint32 eid) private view returns (LayerZero memory) {
        return chains[chainOf(eid)].lz;
    }

    function giveDollars(Chain storage chain, address to, uint256 amount) private {
        PlainDollar(address(chain.dollar)).mint(to, amount * chain.minter.SCALE());
    }

    /// @dev A holder of tokens, if there is one.
    function holderOf(Chain storage chain, uint256 seed) private view returns (address holder) {
        for (uint256 i; i < actors.length; ++i) {
            holder = actorOf(seed % actors.length + i);
            if (chain.token.balanceOf(holder) != 0) break;
        }
    }

    /// @dev An amount that `who` can send in one message.
    function amountOf(Chain storage from, address who, uint256 amount) private view returns (uint256) {
        uint256 most = from.token.balanceOf(who);
        uint256 cap = from.bridge.DAILY_MINT_CAP();
        if (most > cap) most = cap;
        return most == 0 ? 0 : bound(amount, 1, most);
    }

    function payable_(address who, TokenBridge from, uint32 dstEid) private returns (uint256 fee) {
        fee = from.quote(dstEid);
        vm.deal(who, fee);
    }

    function forged(uint256 chainSeed, uint256 toSeed, uint256 amount, bool out, ITokenBridge.Kind kind)
        private
        returns (Packet memory packet)
    {
        Chain storage secondary = chains[secondaryOf(chainSeed)];
        (Chain storage from, Chain storage to) = out ? (chains[0], secondary) : (secondary, chains[0]);
        bytes memory message =
            MessageCodec.encode(ITokenBridge.Message(kind, actorOf(toSeed), actorOf(toSeed), amount.toUint96()));
        packet = forgePacket(to.lz, from.lz.eid, address(from.bridge), address(to.bridge), message);
        // Each forged message is unique; otherwise two separate attestations could verify the same one.
        packet.guid = keccak256(abi.encode(packet.guid, ++lies));
    }

    function unfinished(uint256 seed) private view returns (uint256) {
        for (uint256 i; i < packets.length; ++i) {
            uint256 index = (seed % packets.length + i) % packets.length;
            if (!isDone[index] && !isTaken[keccak256(packets[index].header)]) return index;
        }
        return packets.length;
    }

    /// @dev Packets of one path can be delivered in any order, once all packets before them are verified.
    function verifyUpTo(uint256 last) private {
        for (uint256 i; i <= last; ++i) {
            bool isSamePath = packets[i].receiver == packets[last].receiver && packets[i].sender == packets[last].sender;
            if (!isSamePath || isVerified[i] || isTaken[keccak256(packets[i].header)]) continue;
            isVerified[i] = true;
            verify(lzOf(packets[i].dstEid), packets[i]);
        }
    }

    /// @dev A paused bridge rejects the message, which stays at the LayerZero endpoint.
    function isPaused(Packet memory packet) private view returns (bool) {
        TokenBridge to = chains[chainOf(packet.dstEid)].bridge;
        return packet.receiver == address(to) && block.timestamp < to.pausedUntil();
    }

    /// @dev Whether no activation of the same chain waits that goes before: one that arrived earlier, or, for a
    /// transfer, any.
    function isNext(Held memory message) private view returns (bool) {
        for (uint256 i; i < held.length; ++i) {
            Held memory other = held[i];
            bool isActivation = other.message.kind == ITokenBridge.Kind.Activation;
            if (isActivation && other.guid == message.guid) return true;
            bool isOfItsChain = other.chain == message.chain && other.srcEid == message.srcEid;
            if (isActivation && isOfItsChain && chains[0].bridge.waiting(other.guid) != 0) return false;
        }
        return true;
    }

    function isCovered(Held memory message) private view returns (bool) {
        uint256 amount = message.message.amount;
        if (message.chain != 0) {
            TokenBridge to = chains[message.chain].bridge;
            return to.mintedToday() + amount <= to.DAILY_MINT_CAP();
        }
        (uint256 balance, uint256 gifted) = MINTER.lineOf(message.srcEid);
        return message.message.kind == ITokenBridge.Kind.Activation ? amount <= balance : amount + gifted <= balance;
    }
}
