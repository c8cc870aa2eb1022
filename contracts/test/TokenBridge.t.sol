// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {OAppReceiver} from "@layerzerolabs/oapp-evm/contracts/oapp/OApp.sol";
import {Origin} from "@layerzerolabs/lz-evm-protocol-v2/contracts/interfaces/ILayerZeroEndpointV2.sol";
import {IOAppCore} from "@layerzerolabs/oapp-evm/contracts/oapp/interfaces/IOAppCore.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";

import {TokenBridge} from "../src/TokenBridge.sol";
import {IInferenceSettlement} from "../src/interfaces/IInferenceSettlement.sol";
import {ITokenBridge} from "../src/interfaces/ITokenBridge.sol";
import {ITokenMinter} from "../src/interfaces/ITokenMinter.sol";
import {MessageCodec} from "../src/libraries/MessageCodec.sol";
import {PathwayConfig} from "../src/libraries/PathwayConfig.sol";
import {Packet, Worker} from "./helpers/LayerZero.sol";
import {ThreeChains} from "./helpers/ThreeChains.sol";

interface IEndpoint {
    function delegates(address oapp) external view returns (address);
}

contract TokenBridgeTest is ThreeChains {
    uint256 internal constant MAX = DAILY_MINT_CAP;
    bytes4 internal constant NOT_VERIFIED = bytes4(keccak256("LZ_PayloadHashNotFound(bytes32,bytes32)"));

    /* CONSTRUCTOR */

    function testConstructor_leavesNothingToDefaults() public view {
        assertEq(primary.bridge.owner(), timelock);
        assertEq(IEndpoint(address(primary.lz.endpoint)).delegates(address(primary.bridge)), timelock);
        assertEq(address(primary.bridge.MINTER()), address(minter));
        assertEq(address(primary.bridge.SETTLEMENT()), address(settlement));
        assertEq(primary.bridge.PRIMARY_EID(), 0);
        assertEq(one.bridge.PRIMARY_EID(), EID_0);
        assertEq(primary.bridge.guardian(), guardian);
        assertEq(primary.bridge.options(), PathwayConfig.options(RECEIVE_GAS));
        assertEq(primary.bridge.peers(EID_1), bytes32(uint256(uint160(address(one.bridge)))));
        assertEq(primary.bridge.peers(EID_2), bytes32(uint256(uint160(address(two.bridge)))));
        assertEq(one.bridge.peers(EID_0), bytes32(uint256(uint160(address(primary.bridge)))));
        assertEq(one.bridge.peers(EID_2), 0);
        for (uint256 i; i < 2; ++i) {
            checkPathway(i == 0 ? EID_1 : EID_2);
        }
    }

    function checkPathway(uint32 eid) private view {
        address here = address(primary.bridge);
        assertFalse(primary.lz.endpoint.isDefaultSendLibrary(here, eid));
        assertEq(primary.lz.endpoint.getSendLibrary(here, eid), primary.lz.sendLibrary);
        (address receiving, bool isDefault) = primary.lz.endpoint.getReceiveLibrary(here, eid);
        assertFalse(isDefault);
        assertEq(receiving, primary.lz.receiveLibrary);
        bytes memory executor = primary.lz.endpoint.getConfig(here, primary.lz.sendLibrary, eid, 1);
        assertEq(executor, abi.encode(PathwayConfig.ExecutorConfig(1_000, primary.lz.executor)));
        PathwayConfig.UlnConfig memory uln;
        (uln.confirmations, uln.requiredDVNCount, uln.requiredDVNs) = (confirmationsOf(EID_0), 2, primary.lz.verifiers);
        assertEq(primary.lz.endpoint.getConfig(here, primary.lz.sendLibrary, eid, 2), abi.encode(uln));
        uln.confirmations = confirmationsOf(eid);
        assertEq(primary.lz.endpoint.getConfig(here, primary.lz.receiveLibrary, eid, 2), abi.encode(uln));
    }

    function testConstructor_ambiguousChain() public {
        ITokenBridge.Pathway[] memory pathways = new ITokenBridge.Pathway[](1);
        pathways[0] = pathway(one.lz, EID_0, factory);
        ITokenBridge.Wiring memory wiring = bridgeWiring(one, pathways);
        wiring.minter = minter;
        vm.expectRevert(ITokenBridge.AmbiguousChain.selector);
        new TokenBridge(wiring);
        (wiring.minter, wiring.settlement) = (ITokenMinter(address(0)), settlement);
        vm.expectRevert(ITokenBridge.AmbiguousChain.selector);
        new TokenBridge(wiring);
        wiring = bridgeWiring(one, new ITokenBridge.Pathway[](0));
        vm.expectRevert(ITokenBridge.AmbiguousChain.selector);
        new TokenBridge(wiring);
    }

    function testConstructor_oneVerifierIsNotEnough() public {
        ITokenBridge.Pathway[] memory pathways = new ITokenBridge.Pathway[](1);
        pathways[0] = pathway(one.lz, EID_0, factory);
        pathways[0].verifiers = new address[](1);
        ITokenBridge.Wiring memory wiring = bridgeWiring(one, pathways);
        vm.expectRevert(abi.encodeWithSelector(ITokenBridge.TooFewVerifiers.selector, EID_0));
        new TokenBridge(wiring);
    }

    /// @dev LayerZero reads each of these as its own default.
    function testConstructor_incompletePathway() public {
        for (uint256 i; i < 3; ++i) {
            ITokenBridge.Pathway[] memory pathways = new ITokenBridge.Pathway[](1);
            pathways[0] = pathway(one.lz, EID_0, factory);
            if (i == 0) pathways[0].executor = address(0);
            else if (i == 1) pathways[0].sendConfirmations = 0;
            else pathways[0].receiveConfirmations = 0;
            ITokenBridge.Wiring memory wiring = bridgeWiring(one, pathways);
            vm.expectRevert(abi.encodeWithSelector(ITokenBridge.IncompletePathway.selector, EID_0));
            new TokenBridge(wiring);
        }
    }

    /* TRANSFER */

    function testFuzzBridge_outAndBack(uint256 amount, uint256 back) public {
        amount = bound(amount, 1, MAX);
        back = bound(back, 1, amount);
        fundToken(alice, amount);
        Packet memory packet = bridgeFrom(primary, one, alice, amount);
        assertEq(token.totalSupply(), 0);
        assertLine(EID_1, amount, 0);
        assertEq(one.token.balanceOf(alice), 0);

        relay(one.lz, packet);
        assertEq(one.token.balanceOf(alice), amount);
        assertEq(one.bridge.mintedToday(), amount);

        relay(primary.lz, bridgeFrom(one, primary, alice, back));
        assertEq(one.token.totalSupply(), amount - back);
        assertEq(token.balanceOf(alice), back);
        assertLine(EID_1, amount - back, 0);
        assertEq(settlement.books().backing, amount * 1000);
    }

    function testBridge_toAnotherRecipientAndRefundsTheRest() public {
        fundToken(alice, 5);
        uint256 fee = primary.bridge.quote(EID_2);
        assertEq(fee, 3 * Worker(primary.lz.executor).FEE());
        vm.deal(alice, 1 ether);
        ITokenBridge.Message memory message = ITokenBridge.Message(ITokenBridge.Kind.Transfer, alice, bob, 5);
        vm.expectEmit(false, true, true, true, address(primary.bridge));
        emit ITokenBridge.Sent(0, EID_2, message);
        vm.prank(alice);
        primary.bridge.bridge{value: 1 ether}(EID_2, 5, bob, provider);
        assertEq(provider.balance, 1 ether - fee);

        Packet memory packet = sentPacket();
        verify(two.lz, packet);
        vm.expectEmit(address(two.bridge));
        emit ITokenBridge.Delivered(packet.guid, EID_0, message);
        execute(two.lz, packet);
        assertEq(two.token.balanceOf(bob), 5);
    }

    function testBridge_refusesWhatCouldNotBeDelivered() public {
        uint256 over = DAILY_MINT_CAP + 1;
        fundToken(alice, over);
        vm.deal(alice, 1 ether);
        vm.startPrank(alice);
        vm.expectRevert(ITokenBridge.ZeroAmount.selector);
        primary.bridge.bridge{value: 1}(EID_1, 0, alice, alice);
        vm.expectRevert(ITokenBridge.ZeroAccount.selector);
        primary.bridge.bridge{value: 1}(EID_1, 1, address(0), alice);
        vm.expectRevert(abi.encodeWithSelector(ITokenBridge.AboveDailyMintCap.selector, over, DAILY_MINT_CAP));
        primary.bridge.bridge{value: 1}(EID_1, over, alice, alice);
        vm.expectRevert(abi.encodeWithSelector(ITokenMinter.UnknownChain.selector, 7));
        primary.bridge.bridge{value: 1}(7, 1, alice, alice);
        vm.expectRevert(abi.encodeWithSelector(IERC20Errors.ERC20InsufficientBalance.selector, alice, over, over + 1));
        primary.bridge.bridge{value: 1}(EID_1, over + 1, alice, alice);
        vm.expectPartialRevert(bytes4(keccak256("LZ_InsufficientFee(uint256,uint256,uint256,uint256)")));
        primary.bridge.bridge{value: 1}(EID_1, 1, alice, alice);
    }

    function testBridge_secondaryToSecondary() public {
        fundTokenOn(one, alice, 1);
        vm.expectRevert(abi.encodeWithSelector(IOAppCore.NoPeer.selector, EID_2));
        vm.prank(alice);
        one.bridge.bridge(EID_2, 1, alice, alice);
    }

    /// @dev Tokens minted on a secondary chain are not covered before their dollars arrive, even if the line holds
    /// gifts.
    function testBridge_waitsForItsDollars() public {
        fundTokenOn(one, alice, 20e6);
        fundFloat(EID_1, 1_000e6);
        Packet memory packet = bridgeFrom(one, primary, alice, 15e6);
        ITokenBridge.Message memory message = messageOf(packet);
        verify(primary.lz, packet);
        vm.expectEmit(address(primary.bridge));
        emit ITokenBridge.Waiting(packet.guid, EID_1, message);
        execute(primary.lz, packet);
        assertEq(token.balanceOf(alice), 0);
        assertNotEq(primary.bridge.waiting(packet.guid), 0);
        vm.expectRevert(abi.encodeWithSelector(ITokenBridge.NotCovered.selector, packet.guid));
        primary.bridge.deliver(packet.guid, EID_1, message);

        land(one);
        vm.expectEmit(address(primary.bridge));
        emit ITokenBridge.Delivered(packet.guid, EID_1, message);
        vm.prank(bob);
        primary.bridge.deliver(packet.guid, EID_1, message);
        assertEq(token.balanceOf(alice), 15e6);
        assertLine(EID_1, 1_005e6, 1_000e6);
        vm.expectRevert(abi.encodeWithSelector(ITokenBridge.NotWaiting.selector, packet.guid));
        primary.bridge.deliver(packet.guid, EID_1, message);
    }

    /// @dev The dollars of one chain do not cover messages of another.
    function testBridge_notCoveredByTheOtherChain() public {
        fundTokenOn(one, alice, 20e6);
        land(one);
        fundTokenOn(two, bob, 20e6);
        relay(primary.lz, bridgeFrom(two, primary, bob, 20e6));
        assertEq(token.totalSupply(), 0);
        assertLine(EID_1, 20e6, 0);
    }

    function testBridge_aboveTheDaysCapWaitsForTomorrow() public {
        fundToken(alice, MAX + 1);
        relay(one.lz, bridgeFrom(primary, one, alice, MAX));
        Packet memory packet = bridgeFrom(primary, one, alice, 1);
        relay(one.lz, packet);
        assertEq(one.token.totalSupply(), MAX);
        ITokenBridge.Message memory message = messageOf(packet);
        uint256 midnight = (block.timestamp / 1 days + 1) * 1 days;
        vm.warp(midnight - 1);
        vm.expectRevert(abi.encodeWithSelector(ITokenBridge.NotCovered.selector, packet.guid));
        one.bridge.deliver(packet.guid, EID_0, message);
        vm.warp(midnight);
        assertEq(one.bridge.mintedToday(), 0);
        one.bridge.deliver(packet.guid, EID_0, message);
        assertEq(one.token.totalSupply(), MAX + 1);
        assertEq(one.bridge.mintedToday(), 1);
    }

    /* ACTIVATION */

    function testActivateOnBase_immediateWithinTheFloat() public {
        fundFloat(EID_1, 100);
        fundTokenOn(one, alice, 70);
        Packet memory packet = activateFrom(one, alice, 70);
        assertEq(one.token.totalSupply(), 0);
        verify(primary.lz, packet);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Activated(1, alice, alice, 70, 70, 70_000, EID_1, packet.guid);
        execute(primary.lz, packet);
        assertEq(settlement.creditNanoUsd(alice), 70_000);
        assertLine(EID_1, 30, 100);
    }

    function testActivateOnBase_otherwiseWhenItsDollarsArrive() public {
        fundTokenOn(two, alice, 20e6);
        Packet memory packet = activateFrom(two, alice, 20e6);
        relay(primary.lz, packet);
        assertEq(settlement.creditNanoUsd(alice), 0);
        land(two);
        primary.bridge.deliver(packet.guid, EID_2, messageOf(packet));
        assertEq(settlement.creditNanoUsd(alice), 20e9);
        assertLine(EID_2, 0, 0);
    }

    function testActivateOnBase_forAnotherAccount() public {
        fundFloat(EID_1, 100);
        fundTokenOn(one, alice, 70);
        uint256 fee = one.bridge.quote(EID_0);
        vm.deal(alice, fee + 5);
        vm.prank(alice);
        one.bridge.activateOnBase{value: fee + 5}(70, bob, provider);
        assertEq(provider.balance, 5);
        Packet memory packet = sentPacket();
        verify(primary.lz, packet);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Activated(1, bob, alice, 70, 70, 70_000, EID_1, packet.guid);
        execute(primary.lz, packet);
    }

    function testActivateOnBase_refused() public {
        vm.startPrank(alice);
        vm.expectRevert(ITokenBridge.AlreadyOnPrimary.selector);
        primary.bridge.activateOnBase(1);
        vm.expectRevert(ITokenBridge.AlreadyOnPrimary.selector);
        primary.bridge.activateOnBase(1, bob, bob);
        vm.expectRevert(ITokenBridge.ZeroAmount.selector);
        one.bridge.activateOnBase(0);
        vm.expectRevert(ITokenBridge.ZeroAccount.selector);
        one.bridge.activateOnBase(1, address(0), bob);
        vm.expectRevert(abi.encodeWithSelector(IERC20Errors.ERC20InsufficientBalance.selector, alice, 0, 1));
        one.bridge.activateOnBase(1);
    }

    /* WAITING */

    function testDeliver_onlyWhatWaits() public {
        fundTokenOn(one, alice, 20e6);
        Packet memory packet = bridgeFrom(one, primary, alice, 15e6);
        relay(primary.lz, packet);
        land(one);
        ITokenBridge.Message memory message = messageOf(packet);
        bytes memory refusal = abi.encodeWithSelector(ITokenBridge.NotWaiting.selector, packet.guid);
        message.to = bob;
        vm.expectRevert(refusal);
        primary.bridge.deliver(packet.guid, EID_1, message);
        message = messageOf(packet);
        message.kind = ITokenBridge.Kind.Activation;
        vm.expectRevert(refusal);
        primary.bridge.deliver(packet.guid, EID_1, message);
        message = messageOf(packet);
        vm.expectRevert(refusal);
        primary.bridge.deliver(packet.guid, EID_2, message);
        vm.expectRevert(abi.encodeWithSelector(ITokenBridge.NotWaiting.selector, keccak256("other")));
        primary.bridge.deliver(keccak256("other"), EID_1, message);
        primary.bridge.deliver(packet.guid, EID_1, message);
    }

    /// @dev Alice's activation waits for its dollars. Later activations and transfers of her chain do not take them,
    /// before or after they arrive. Other chains are not concerned.
    function testDeliver_activationsAreNotOvertaken() public {
        fundTokenOn(one, alice, 1_000e6);
        fundTokenOn(one, bob, 300e6);
        fundFloat(EID_1, 700e6);
        fundFloat(EID_2, 5e6);
        Packet memory hers = activateFrom(one, alice, 1_000e6);
        relay(primary.lz, hers);
        Packet memory his = activateFrom(one, bob, 100e6);
        relay(primary.lz, his);
        Packet memory transfer = bridgeFrom(one, primary, bob, 100e6);
        relay(primary.lz, transfer);
        assertEq(settlement.creditNanoUsd(bob), 0);
        expectNotNext(his);
        expectNotNext(transfer);
        vm.expectRevert(abi.encodeWithSelector(ITokenBridge.NotCovered.selector, hers.guid));
        primary.bridge.deliver(hers.guid, EID_1, messageOf(hers));
        fundTokenOn(two, bob, 5e6);
        relay(primary.lz, activateFrom(two, bob, 5e6));
        assertEq(settlement.creditNanoUsd(bob), 5e9);

        land(one);
        expectNotNext(his);
        primary.bridge.deliver(hers.guid, EID_1, messageOf(hers));
        expectNotNext(transfer);
        primary.bridge.deliver(his.guid, EID_1, messageOf(his));
        primary.bridge.deliver(transfer.guid, EID_1, messageOf(transfer));
        assertEq(settlement.creditNanoUsd(alice), 1_000e9);
        assertEq(settlement.creditNanoUsd(bob), 105e9);
        assertEq(token.balanceOf(bob), 100e6);
        // Nothing waits any more, so a message is delivered when it arrives.
        relay(primary.lz, activateFrom(one, bob, 100e6));
        assertEq(settlement.creditNanoUsd(bob), 205e9);
    }

    function testDeliver_waitingTransferHoldsUpNoActivation() public {
        fundTokenOn(one, alice, 100e6);
        fundFloat(EID_1, 50e6);
        Packet memory transfer = bridgeFrom(one, primary, alice, 15e6);
        relay(primary.lz, transfer);
        assertNotEq(primary.bridge.waiting(transfer.guid), 0);
        relay(primary.lz, activateFrom(one, alice, 40e6));
        assertEq(settlement.creditNanoUsd(alice), 40e9);
    }

    /// @dev A message that the timelock removed holds up nothing.
    function testDiscard_lettingTheNextOneThrough() public {
        fundTokenOn(one, alice, 1_000e6);
        fundFloat(EID_1, 50e6);
        Packet memory first = activateFrom(one, alice, 900e6);
        relay(primary.lz, first);
        Packet memory second = activateFrom(one, alice, 40e6);
        relay(primary.lz, second);
        expectNotNext(second);
        vm.prank(timelock);
        primary.bridge.discard(first.guid);
        primary.bridge.deliver(second.guid, EID_1, messageOf(second));
        relay(primary.lz, activateFrom(one, alice, 10e6));
        assertEq(settlement.creditNanoUsd(alice), 50e9);
    }

    function testDiscard_severalInARow() public {
        fundTokenOn(one, alice, 1_000e6);
        fundFloat(EID_1, 50e6);
        Packet[3] memory packets;
        for (uint256 i; i < 3; ++i) {
            packets[i] = activateFrom(one, alice, i < 2 ? 400e6 : 40e6);
            relay(primary.lz, packets[i]);
        }
        vm.startPrank(timelock);
        primary.bridge.discard(packets[0].guid);
        primary.bridge.discard(packets[1].guid);
        vm.stopPrank();
        primary.bridge.deliver(packets[2].guid, EID_1, messageOf(packets[2]));
        assertEq(settlement.creditNanoUsd(alice), 40e9);
    }

    function expectNotNext(Packet memory packet) private {
        ITokenBridge.Message memory message = messageOf(packet);
        vm.expectRevert(abi.encodeWithSelector(ITokenBridge.NotNext.selector, packet.guid));
        primary.bridge.deliver(packet.guid, EID_1, message);
    }

    function testDiscard_byTheTimelockOnly() public {
        fundTokenOn(one, alice, 20e6);
        Packet memory packet = bridgeFrom(one, primary, alice, 15e6);
        relay(primary.lz, packet);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, guardian));
        vm.prank(guardian);
        primary.bridge.discard(packet.guid);
        vm.startPrank(timelock);
        vm.expectEmit(address(primary.bridge));
        emit ITokenBridge.Discarded(packet.guid);
        primary.bridge.discard(packet.guid);
        vm.expectRevert(abi.encodeWithSelector(ITokenBridge.NotWaiting.selector, packet.guid));
        primary.bridge.discard(packet.guid);
        vm.expectRevert(abi.encodeWithSelector(ITokenBridge.NotWaiting.selector, packet.guid));
        primary.bridge.deliver(packet.guid, EID_1, messageOf(packet));
    }

    /* LAYERZERO */

    function testLzReceive_twice() public {
        fundToken(alice, 5);
        Packet memory packet = bridgeFrom(primary, one, alice, 5);
        relay(one.lz, packet);
        vm.expectPartialRevert(NOT_VERIFIED);
        this.executeOn(one.lz.eid, packet);
        verifyAs(one.lz, 0, packet);
        verifyAs(one.lz, 1, packet);
        vm.expectPartialRevert(bytes4(keccak256("LZ_PathNotVerifiable()")));
        this.commitOn(one.lz.eid, packet);
        assertEq(one.token.totalSupply(), 5);
    }

    function testLzReceive_tooLittleGasAndThenEnough() public {
        fundToken(alice, 5);
        Packet memory packet = bridgeFrom(primary, one, alice, 5);
        verify(one.lz, packet);
        (bool ok,) = address(this).call{gas: 60_000}(abi.encodeCall(this.executeOn, (EID_1, packet)));
        assertFalse(ok);
        assertEq(one.token.totalSupply(), 0);
        execute(one.lz, packet);
        assertEq(one.token.totalSupply(), 5);
    }

    /// @dev The final state does not depend on the order of delivery or on replays in between.
    function testFuzzLzReceive_anyOrder(uint256 seed) public {
        fundToken(alice, 15);
        Packet[] memory packets = new Packet[](5);
        for (uint256 i; i < 5; ++i) {
            packets[i] = bridgeFrom(primary, one, alice, i + 1);
            verify(one.lz, packets[i]);
        }
        for (uint256 left = 5; left != 0; --left) {
            uint256 next = seed % left;
            seed /= left;
            execute(one.lz, packets[next]);
            vm.expectPartialRevert(NOT_VERIFIED);
            this.executeOn(EID_1, packets[next]);
            packets[next] = packets[left - 1];
        }
        assertEq(one.token.balanceOf(alice), 15);
        assertEq(one.token.totalSupply(), 15);
    }

    function testLzReceive_endpointAndPeerOnly() public {
        ITokenBridge.Message memory message = ITokenBridge.Message(ITokenBridge.Kind.Transfer, bob, bob, 1);
        Origin memory origin = Origin(EID_1, bytes32(uint256(uint160(address(one.bridge)))), 1);
        vm.expectRevert(abi.encodeWithSelector(OAppReceiver.OnlyEndpoint.selector, bob));
        vm.prank(bob);
        primary.bridge.lzReceive(origin, "guid", abi.encode(message), bob, "");
        origin.sender = bytes32(uint256(uint160(bob)));
        vm.expectRevert(abi.encodeWithSelector(IOAppCore.OnlyPeer.selector, EID_1, origin.sender));
        vm.prank(address(primary.lz.endpoint));
        primary.bridge.lzReceive(origin, "guid", abi.encode(message), bob, "");
    }

    /// @dev A secondary chain has no settlement and therefore no credit.
    function testLzReceive_activationOnASecondaryChain() public {
        bytes memory message = MessageCodec.encode(ITokenBridge.Message(ITokenBridge.Kind.Activation, bob, bob, 1));
        Packet memory packet = forgePacket(one.lz, EID_0, address(primary.bridge), address(one.bridge), message);
        verify(one.lz, packet);
        // The settlement's address has no code.
        vm.expectRevert(bytes(""));
        this.executeOn(EID_1, packet);
        assertEq(one.bridge.mintedToday(), 0);
    }

    function testSetPeer_never() public {
        vm.expectRevert(ITokenBridge.PeersAreFixed.selector);
        vm.prank(timelock);
        primary.bridge.setPeer(EID_1, 0);
    }

    /* PAUSE */

    function testPause_stopsSendingAndDelivering() public {
        fundToken(alice, 5);
        fundTokenOn(one, alice, 20e6);
        Packet memory sentBefore = bridgeFrom(primary, one, alice, 5);
        uint256 until = block.timestamp + 7 days;
        vm.startPrank(guardian);
        vm.expectEmit(address(one.bridge));
        emit ITokenBridge.PausedUntil(until);
        one.bridge.pause(until);
        vm.stopPrank();
        assertEq(one.bridge.pausedUntil(), until);

        bytes memory refusal = abi.encodeWithSelector(ITokenBridge.Paused.selector, until);
        vm.startPrank(alice);
        vm.expectRevert(refusal);
        one.bridge.bridge(EID_0, 1, alice, alice);
        vm.expectRevert(refusal);
        one.bridge.activateOnBase(1);
        vm.expectRevert(refusal);
        one.bridge.deliver(sentBefore.guid, EID_0, messageOf(sentBefore));
        vm.stopPrank();
        verify(one.lz, sentBefore);
        vm.expectRevert(refusal);
        this.executeOn(EID_1, sentBefore);

        vm.warp(until);
        execute(one.lz, sentBefore);
        assertEq(one.token.balanceOf(alice), 20e6 + 5);
    }

    function testFuzzPause_guardianOnlyAndSevenDaysAtMost(address caller, uint256 until) public {
        expectOnly(caller, guardian, ITokenBridge.OnlyGuardian.selector);
        primary.bridge.pause(until);
        uint256 latest = block.timestamp + 7 days;
        vm.startPrank(guardian);
        if (until > latest) {
            vm.expectRevert(abi.encodeWithSelector(ITokenBridge.PauseTooLong.selector, latest));
            primary.bridge.pause(until);
        } else {
            primary.bridge.pause(until);
            assertEq(primary.bridge.pausedUntil(), until);
            primary.bridge.pause(0);
            assertEq(primary.bridge.pausedUntil(), 0);
        }
    }

    function testFuzzSetGuardian_timelockOnly(address caller, address newGuardian) public {
        vm.assume(caller != timelock);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, caller));
        vm.prank(caller);
        primary.bridge.setGuardian(newGuardian);
        vm.expectEmit(address(primary.bridge));
        emit ITokenBridge.GuardianChanged(guardian, newGuardian);
        vm.prank(timelock);
        primary.bridge.setGuardian(newGuardian);
        assertEq(primary.bridge.guardian(), newGuardian);
    }

    /* HELPERS */

    /// @dev External, so that expectRevert applies to the whole call.
    function executeOn(uint32 eid, Packet memory packet) external {
        execute(eid == EID_0 ? primary.lz : eid == EID_1 ? one.lz : two.lz, packet);
    }

    function commitOn(uint32 eid, Packet memory packet) external {
        commit(eid == EID_0 ? primary.lz : eid == EID_1 ? one.lz : two.lz, packet);
    }
}
