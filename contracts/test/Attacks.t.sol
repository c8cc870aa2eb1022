// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

import {TokenBackingOutbox} from "../src/TokenBackingOutbox.sol";
import {IInferenceSettlement} from "../src/interfaces/IInferenceSettlement.sol";
import {ITokenBridge} from "../src/interfaces/ITokenBridge.sol";
import {MessageCodec} from "../src/libraries/MessageCodec.sol";
import {Chunks} from "./helpers/Chunks.sol";
import {IUln302, Packet} from "./helpers/LayerZero.sol";
import {ThreeChains} from "./helpers/ThreeChains.sol";

/// @notice Attacks across contracts, each with its maximum loss. An attack on a single function is tested in the test
/// file of its contract; test/README.md lists them all.
contract AttacksTest is ThreeChains {
    address internal thief = makeAddr("thief");
    address internal agent = makeAddr("agent");
    address internal safe = makeAddr("safe");
    address internal treasury = makeAddr("treasury");

    function setUp() public override {
        super.setUp();
        registry.setAgent(agent, safe, treasury);
    }

    /* FORGED MESSAGES */

    function testOneVerifierLies_nothingComesThrough() public {
        fundTokenOn(one, alice, 1_000e6);
        land(one);
        Packet memory packet = forgedFromOne(ITokenBridge.Kind.Transfer, 1);
        verifyAs(primary.lz, 0, packet);
        vm.expectRevert(IUln302.LZ_ULN_Verifying.selector);
        commit(primary.lz, packet);
        vm.expectRevert();
        this.executeOnPrimary(packet);
        assertEq(token.totalSupply(), 0);
    }

    /// @dev Both verifiers attest forged messages for hours without limit. They obtain the line of their chain and
    /// nothing more: nothing of another chain or of a holder on the primary chain.
    function testBothVerifiersLie_lossIsTheLine() public {
        fundToken(alice, 700e6);
        fundTokenOn(one, alice, 1_000e6);
        land(one);
        fundTokenOn(two, bob, 500e6);
        land(two);
        fundFloat(EID_1, 50e6);
        for (uint256 i; i < 5; ++i) {
            relay(primary.lz, forgedFromOne(ITokenBridge.Kind.Transfer, 300e6));
            relay(primary.lz, forgedFromOne(ITokenBridge.Kind.Activation, 49e6));
        }
        relay(primary.lz, forgedFromOne(ITokenBridge.Kind.Activation, 3e6));
        uint256 loss = token.balanceOf(thief) + settlement.creditNanoUsd(thief) / 1000;
        assertLe(loss, 1_050e6);
        // The last activation waits behind one that the line no longer covers.
        assertEq(loss, 3 * 300e6 + 3 * 49e6);
        assertLine(EID_1, 3e6, 50e6);
        assertLine(EID_2, 500e6, 0);
        assertEq(token.balanceOf(alice), 700e6);
        assertBooks();
    }

    /// @dev In the other direction the loss is the daily mint cap per day, until the guardian pauses. The timelock then
    /// removes the messages that wait; its delay is shorter than the longest pause.
    function testBothVerifiersLie_lossOnASecondaryChainIsTheDaysCap() public {
        for (uint256 i; i < 4; ++i) {
            relay(one.lz, forgedFromPrimary(4_000e6));
        }
        assertEq(one.token.totalSupply(), 8_000e6);
        assertLe(one.token.totalSupply(), DAILY_MINT_CAP);
        Packet memory waits = forgedFromPrimary(4_000e6);
        relay(one.lz, waits);
        vm.prank(guardian);
        one.bridge.pause(block.timestamp + 7 days);
        vm.warp(block.timestamp + 48 hours);
        vm.prank(one.timelock);
        one.bridge.discard(waits.guid);
        vm.warp(block.timestamp + 5 days);
        vm.expectRevert(abi.encodeWithSelector(ITokenBridge.NotWaiting.selector, waits.guid));
        one.bridge.deliver(waits.guid, EID_0, messageOf(waits));
        assertEq(one.token.totalSupply(), 8_000e6);
    }

    /// @dev Forged tokens can leave a secondary chain only up to its line, so other chains lose nothing.
    function testForgedTokens_cannotLeaveTheirChain() public {
        fundToken(alice, 900e6);
        relay(one.lz, forgedFromPrimary(5_000e6));
        relay(primary.lz, bridgeFrom(one, primary, thief, 5_000e6));
        assertEq(token.balanceOf(thief), 0);
        assertBooks();
    }

    /* A STOLEN SETTLER KEY */

    /// @dev The maximum over three days: yesterday's ceiling at once, today's, and one more at each midnight. The thief
    /// controls neither the provider nor the split, and the guardian stops it in one transaction.
    function testStolenSettler_losesFourCeilingsInThreeDays() public {
        uint256 start = (block.timestamp / 1 days + 1) * 1 days;
        vm.warp(start);
        fundCredit(alice, 1_000e6);
        uint256 day = start / 1 days;
        uint256 stolen = debitAllLeft(day - 1) + debitAllLeft(day);
        for (uint256 i = 1; i < 3; ++i) {
            vm.warp(start + i * 1 days);
            assertEq(debitAllLeft(day + i - 1), 0);
            stolen += debitAllLeft(day + i);
        }
        assertEq(stolen, 4 * 50e9);
        assertEq(settlement.creditNanoUsd(alice), 1_000e9 - 4 * 50e9);
        settlement.payProvider();
        assertEq(usdc.balanceOf(provider), 200e6);
        vm.prank(guardian);
        settlement.revokeSettler();
        vm.warp(start + 3 days);
        bytes memory data = debitOf(alice, 1);
        vm.expectRevert(IInferenceSettlement.OnlySettler.selector);
        vm.prank(settler);
        settlement.settle(uint32(day + 3), data);
    }

    /// @dev With a colluding agent: at most what its capacity covers, nine tenths of it to addresses from the registry.
    function testStolenSettlerAndAgent_getTheCapacity() public {
        fundCredit(alice, 1_000e6);
        uint256 day = block.timestamp / 1 days;
        pool.setCapacity(agent, day, 20e9);
        settle(day, Chunks.serve(agent, day, alice, 0, 30e9));
        settlement.paySafe(agent);
        settlement.payBack(alice);
        assertEq(usdc.balanceOf(safe), 8e6);
        assertEq(token.balanceOf(alice), 2e6);
        assertEq(settlement.owedProviderNanoUsd(), 10e9);
        assertBooks();
    }

    /// @dev With an agent that never served: the unused capacities of all past days, up to the ceilings.
    function testStolenSettlerAndAgent_getPastCapacityUnderTheCeiling() public {
        fundCredit(alice, 1_000e6);
        uint256 day = block.timestamp / 1 days;
        for (uint256 age; age < 50; ++age) {
            pool.setCapacity(agent, day - age, 1e9);
            settle(day, Chunks.serve(agent, day - age, alice, debitedOf(alice), 2e9));
            if (settlement.paidNanoUsd(day) == 50e9) break;
        }
        assertEq(settlement.paidNanoUsd(day), 50e9);
        (uint256 toSafe,) = settlement.owedAgentNanoUsd(agent);
        assertEq(toSafe, 25 * 0.4e9);
    }

    /// @dev The thief moves an account's total, so that honest records miss. Nothing is debited twice: the honest
    /// settler starts from the new total, and the operator makes good with a gift of credit.
    function testStolenSettler_honestRecordsMiss() public {
        fundCredit(alice, 100e6);
        uint256 day = block.timestamp / 1 days;
        bytes memory honest = Chunks.debit(alice, 0, 5e9);
        settle(day, Chunks.debit(alice, 0, 1));
        settle(day, honest);
        assertEq(debitedOf(alice), 1);
        settle(day, Chunks.debit(alice, 1, 5e9));
        assertEq(debitedOf(alice), 5e9 + 1);
        assertBooks();
    }

    /// @dev Like any fixed window, the seconds around midnight allow two ceilings, and not three.
    function testMidnightEdge_twoCeilings() public {
        fundCredit(alice, 1_000e6);
        uint256 midnight = (block.timestamp / 1 days + 1) * 1 days;
        uint256 day = midnight / 1 days;
        vm.warp(midnight - 1);
        assertEq(debitAllLeft(day - 1), 50e9);
        vm.warp(midnight);
        assertEq(debitAllLeft(day - 1), 0);
        assertEq(debitAllLeft(day), 50e9);
        assertEq(debitAllLeft(day), 0);
    }

    /// @dev A chunk after its grace period reverts as a whole, and can be posted for a later day.
    function testLateChunk_underALaterDay() public {
        fundCredit(alice, 100e6);
        uint256 day = block.timestamp / 1 days;
        vm.warp((day + 1) * 1 days + 6 hours);
        bytes memory data = debitOf(alice, 3e9);
        vm.expectRevert(abi.encodeWithSelector(IInferenceSettlement.WrongDay.selector, day, day + 1));
        vm.prank(settler);
        settlement.settle(uint32(day), data);
        settle(day + 1, data);
        assertEq(settlement.paidNanoUsd(day + 1), 3e9);
    }

    /// @dev Two settlers post the same statements, in any order and often: each counts once.
    function testTwoSettlers_eachStatementCountsOnce() public {
        fundCredit(alice, 100e6);
        uint256 day = block.timestamp / 1 days;
        for (uint256 i; i < 3; ++i) {
            settle(day, Chunks.debit(alice, 2e9, 3e9));
            settle(day, Chunks.debit(alice, 0, 2e9));
        }
        assertEq(debitedOf(alice), 5e9);
        assertEq(settlement.paidNanoUsd(day), 5e9);
        assertBooks();
    }

    /// @dev A stablecoin that lost its peg mints a million tokens at par. The inference sold for them is limited by the
    /// ceilings.
    function testDepeg_costsTheCeilings() public {
        fundCredit(alice, 1_000_000e6);
        uint256 day = block.timestamp / 1 days;
        uint256 paid;
        for (uint256 i; i < 3; ++i) {
            vm.warp((day + i) * 1 days + 12 hours);
            paid += debitAllLeft(day + i);
        }
        assertEq(paid, 3 * 50e9);
    }

    /* BLOCKED AND PAUSED DOLLARS */

    /// @dev The issuer blocks the Safe and the provider. Chunks continue, the treasury is paid, and the
    /// blocked amounts can be paid once Safe and provider are replaced.
    function testBlockedPayees_doNotAffectOthers() public {
        uint256 day = block.timestamp / 1 days;
        pool.setCapacity(agent, day, 20e9);
        fundCredit(alice, 100e6);
        usdc.blacklist(safe);
        usdc.blacklist(provider);
        settle(day, debitOf(alice, 5e9));
        settle(day, Chunks.serve(agent, day, alice, 5e9, 10e9));
        vm.expectRevert("Blacklistable: account is blacklisted");
        settlement.paySafe(agent);
        vm.expectRevert("Blacklistable: account is blacklisted");
        settlement.payProvider();
        settlement.payTreasury(agent);
        assertEq(usdc.balanceOf(treasury), 5e6);

        registry.setAgent(agent, bob, treasury);
        settlement.paySafe(agent);
        vm.prank(timelock);
        settlement.setProvider(alice);
        settlement.payProvider();
        assertEq(usdc.balanceOf(bob), 4e6);
        assertEq(usdc.balanceOf(alice), 5e6);
        assertBooks();
    }

    /// @dev The issuer blocks the minter. No dollars come in or go out; tokens, credit, chunks and messages still
    /// work.
    function testBlockedMinter_stopsOnlyDollars() public {
        fundToken(alice, 20e6);
        fundTokenOn(one, bob, 20e6);
        fundFloat(EID_1, 20e6);
        usdc.blacklist(address(minter));
        vm.prank(alice);
        settlement.activate(10e6);
        relay(primary.lz, activateFrom(one, bob, 20e6));
        relay(one.lz, bridgeFrom(primary, one, alice, 5e6));
        settle(block.timestamp / 1 days, debitOf(alice, 3e9));
        vm.expectRevert("Blacklistable: account is blacklisted");
        settlement.payProvider();
        assertBooks();
    }

    /* DUST, GIFTS, REENTRANCY, REPLAY */

    /// @dev Many messages of one unit each: the sender pays for each, anyone delivers them when their dollars are there,
    /// and none takes the dollars of an activation before it.
    function testDustMessages_areDeliveredInOrder() public {
        fundTokenOn(one, thief, 20);
        fundTokenOn(one, alice, 50e6);
        Packet[] memory dust = new Packet[](20);
        for (uint256 i; i < 20; ++i) {
            dust[i] = activateFrom(one, thief, 1);
            relay(primary.lz, dust[i]);
        }
        land(one);
        Packet memory hers = activateFrom(one, alice, 50e6);
        relay(primary.lz, hers);
        for (uint256 i; i < 20; ++i) {
            primary.bridge.deliver(dust[i].guid, EID_1, messageOf(dust[i]));
        }
        primary.bridge.deliver(hers.guid, EID_1, messageOf(hers));
        assertEq(settlement.creditNanoUsd(alice), 50e9);
    }

    /// @dev One unit a day cannot force an hourly flush, and its cost falls on the caller only.
    function testDustFlush_oneADay() public {
        uint256 flushes;
        vm.deal(thief, 1 ether);
        for (uint256 hour; hour < 72; ++hour) {
            vm.warp(block.timestamp + 1 hours);
            fundTokenOn(two, thief, 1);
            vm.prank(thief);
            try two.outbox.flush{value: 0.001 ether}(type(uint256).max) {
                ++flushes;
            } catch {}
        }
        assertEq(flushes, 2);
    }

    function testDonations_areNotBooked() public {
        fundToken(alice, 10);
        fundTokenOn(one, alice, 10);
        usdc.mint(address(minter), 1e12);
        usdc.mint(address(settlement), 1e12);
        usdc.mint(address(primary.bridge), 1e12);
        assertEq(minter.backing(), 10);
        assertLine(EID_1, 0, 0);
        assertEq(one.outbox.pending(), 10);
        assertBooks();
    }

    /// @dev The recipient of a refund is called and can call back, but it cannot start another flush.
    function testReentry_byTheRefundOfAFlush() public {
        fundTokenOn(two, alice, 30_000e6);
        Reentrant caller = new Reentrant(two.outbox);
        vm.deal(address(caller), 1 ether);
        caller.flush();
        assertEq(
            caller.refusal(), abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector)
        );
        assertEq(two.outbox.flushed(), 10_000e6);
    }

    /// @dev The token has the same address on all chains; a permit is valid on one chain only.
    function testReplay_permitOfAnotherChain() public {
        bytes32 message = keccak256(abi.encode(PERMIT_TYPEHASH, alice, thief, 1, 0, block.timestamp));
        bytes32 digest = keccak256(abi.encodePacked("\x19\x01", token.DOMAIN_SEPARATOR(), message));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(aliceKey, digest);
        uint256 snapshot = vm.snapshotState();
        token.permit(alice, thief, 1, block.timestamp, v, r, s);
        vm.revertToState(snapshot);
        vm.chainId(block.chainid + 1);
        vm.expectPartialRevert(ERC20Permit.ERC2612InvalidSigner.selector);
        token.permit(alice, thief, 1, block.timestamp, v, r, s);
    }

    /* HELPERS */

    function executeOnPrimary(Packet memory packet) external {
        execute(primary.lz, packet);
    }

    function forgedFromOne(ITokenBridge.Kind kind, uint96 amount) private view returns (Packet memory) {
        bytes memory message = MessageCodec.encode(ITokenBridge.Message(kind, thief, thief, amount));
        return forgePacket(primary.lz, EID_1, address(one.bridge), address(primary.bridge), message);
    }

    function forgedFromPrimary(uint96 amount) private view returns (Packet memory) {
        bytes memory message =
            MessageCodec.encode(ITokenBridge.Message(ITokenBridge.Kind.Transfer, thief, thief, amount));
        return forgePacket(one.lz, EID_0, address(primary.bridge), address(one.bridge), message);
    }

    function debitedOf(address account) private view returns (uint256 debited) {
        (, debited,) = settlement.accountOf(account);
    }

    function debitOf(address account, uint256 amount) private view returns (bytes memory) {
        return Chunks.debit(account, debitedOf(account), amount);
    }

    function settle(uint256 day, bytes memory data) private {
        vm.prank(settler);
        settlement.settle(uint32(day), data);
    }

    /// @dev Asks for more than remains of the day, and checks that a second chunk reverts. Returns what was debited.
    function debitAllLeft(uint256 day) private returns (uint256 paid) {
        uint256 before = settlement.paidNanoUsd(day);
        if (before < settlement.ceilingNanoUsd()) settle(day, debitOf(alice, 1_000e9));
        paid = settlement.paidNanoUsd(day) - before;
        bytes memory data = debitOf(alice, 1);
        vm.expectRevert(abi.encodeWithSelector(IInferenceSettlement.CeilingReached.selector, day));
        vm.prank(settler);
        settlement.settle(uint32(day), data);
    }

    function assertBooks() private view {
        IInferenceSettlement.Books memory books = settlement.books();
        assertEq(books.backing, books.supply + books.credit + books.owed + books.lines, "books");
    }
}

/// @notice Flushes, and tries to flush again when it receives its refund.
contract Reentrant {
    TokenBackingOutbox private immutable OUTBOX;
    bytes public refusal;

    constructor(TokenBackingOutbox outbox) {
        OUTBOX = outbox;
    }

    function flush() external {
        OUTBOX.flush{value: address(this).balance}(type(uint256).max);
    }

    receive() external payable {
        try OUTBOX.flush(type(uint256).max) {}
        catch (bytes memory reason) {
            refusal = reason;
        }
    }
}
