// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITokenBridge} from "../src/interfaces/ITokenBridge.sol";
import {Packet} from "./helpers/LayerZero.sol";
import {ThreeChains} from "./helpers/ThreeChains.sol";

/// @notice What an attacker can do with the daily mint cap of a secondary chain without a forged message.
contract CapAttacksTest is ThreeChains {
    address internal thief = makeAddr("thief");

    /// @dev The cap counts mints and is not reduced by burns. A tenth of the cap, sent back and forth, uses all of it
    /// for the price of the messages. Transfers of others wait for the next day and are not lost.
    function testLoopedTransfers_useUpADaysCap() public {
        fundToken(thief, DAILY_MINT_CAP / 10);
        fundToken(alice, 100e6);
        for (uint256 i; i < 10; ++i) {
            relay(one.lz, bridgeFrom(primary, one, thief, DAILY_MINT_CAP / 10));
            relay(primary.lz, bridgeFrom(one, primary, thief, DAILY_MINT_CAP / 10));
        }
        assertEq(token.balanceOf(thief), DAILY_MINT_CAP / 10);
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
