// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITokenBridge} from "../src/interfaces/ITokenBridge.sol";
import {Packet} from "./helpers/LayerZero.sol";
import {ThreeChains} from "./helpers/ThreeChains.sol";

/// @notice What can be done with the day's cap of a secondary chain, without any forged message.
contract CapAttacksTest is ThreeChains {
    address internal thief = makeAddr("thief");

    /// @dev The cap counts what comes in and not what goes out again: a tenth of it, sent to and fro, uses all of it for the
    /// price of the messages. Others' transfers wait for the next day and nothing of theirs is lost.
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

    /// @dev A transfer of the whole cap needs a day of its own: a unit that comes before it each day holds it up. Smaller
    /// ones are not held up by that.
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
