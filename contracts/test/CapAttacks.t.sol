// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITokenBridge} from "../src/interfaces/ITokenBridge.sol";
import {Packet} from "./helpers/LayerZero.sol";
import {ThreeChains} from "./helpers/ThreeChains.sol";

/// @notice What an attacker can do with the daily mint cap of a secondary chain without a forged message.
contract CapAttacksTest is ThreeChains {
    address internal thief = makeAddr("thief");

    /// @dev A tenth of the cap, sent back and forth, does not use it up: what leaves makes room again.
    function testLoopedTransfers_useUpNothing() public {
        fundToken(thief, DAILY_MINT_CAP / 10);
        fundToken(alice, DAILY_MINT_CAP);
        for (uint256 i; i < 11; ++i) {
            relay(one.lz, bridgeFrom(primary, one, thief, DAILY_MINT_CAP / 10));
            assertEq(one.bridge.mintedToday(), DAILY_MINT_CAP / 10);
            relay(primary.lz, bridgeFrom(one, primary, thief, DAILY_MINT_CAP / 10));
        }
        assertEq(one.bridge.mintedToday(), 0);
        relay(one.lz, bridgeFrom(primary, one, alice, DAILY_MINT_CAP));
        assertEq(one.token.balanceOf(alice), DAILY_MINT_CAP);
    }

    /// @dev What leaves makes no more room than was used, and none on another day. Par mints do not count.
    function testFuzzLeave_noRoomAboveTheCap(uint96 arrived, uint96 left) public {
        arrived = uint96(bound(arrived, 1, DAILY_MINT_CAP));
        left = uint96(bound(left, 1, DAILY_MINT_CAP));
        fundToken(alice, arrived);
        fundTokenOn(one, bob, left);
        relay(one.lz, bridgeFrom(primary, one, alice, arrived));
        if (left % 2 == 0) bridgeFrom(one, primary, bob, left);
        else activateFrom(one, bob, left);
        assertEq(one.bridge.mintedToday(), arrived > left ? arrived - left : 0);
        vm.warp(block.timestamp + 1 days);
        fundTokenOn(one, bob, 1);
        bridgeFrom(one, primary, bob, 1);
        assertEq(one.bridge.mintedToday(), 0);
    }

    /// @dev Only the whole cap, kept on the secondary chain, uses it up. Transfers of others wait for the next day and
    /// are not lost.
    function testWholeCapKeptThere_delaysOthersForThatDay() public {
        fundToken(thief, DAILY_MINT_CAP);
        fundToken(alice, 100e6);
        relay(one.lz, bridgeFrom(primary, one, thief, DAILY_MINT_CAP));
        Packet memory late = bridgeFrom(primary, one, alice, 100e6);
        relay(one.lz, late);
        assertEq(one.token.balanceOf(alice), 0);

        vm.expectRevert(abi.encodeWithSelector(ITokenBridge.NotCovered.selector, late.guid));
        one.bridge.deliver(late.guid, EID_0, messageOf(late));
        vm.warp((block.timestamp / 1 days + 1) * 1 days);
        one.bridge.deliver(late.guid, EID_0, messageOf(late));
        assertEq(one.token.balanceOf(alice), 100e6);
    }

    /// @dev A transfer of the full cap needs a day without other transfers: one unit before it delays it, each day.
    /// Smaller transfers are not delayed.
    function testDustBeforeAFullTransfer_holdsItUpForThatDay() public {
        fundToken(alice, DAILY_MINT_CAP);
        fundToken(thief, 3);
        relay(one.lz, bridgeFrom(primary, one, thief, 1));
        Packet memory whole = bridgeFrom(primary, one, alice, DAILY_MINT_CAP);
        relay(one.lz, whole);
        for (uint256 i; i < 2; ++i) {
            vm.warp((block.timestamp / 1 days + 1) * 1 days);
            relay(one.lz, bridgeFrom(primary, one, thief, 1));
            vm.expectRevert(abi.encodeWithSelector(ITokenBridge.NotCovered.selector, whole.guid));
            one.bridge.deliver(whole.guid, EID_0, messageOf(whole));
        }
        vm.warp((block.timestamp / 1 days + 1) * 1 days);
        one.bridge.deliver(whole.guid, EID_0, messageOf(whole));
        assertEq(one.token.balanceOf(alice), DAILY_MINT_CAP);
    }
}
