// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {GaslessTopUp} from "../src/GaslessTopUp.sol";
import {StandingOrders} from "../src/StandingOrders.sol";
import {X402Door} from "../src/X402Door.sol";
import {IGaslessTopUp} from "../src/interfaces/IGaslessTopUp.sol";
import {ITokenMinter} from "../src/interfaces/ITokenMinter.sol";
import {IX402Door} from "../src/interfaces/IX402Door.sol";
import {PlainDollar} from "./helpers/Dollars.sol";
import {IUsdc} from "./helpers/IUsdc.sol";
import {Packet} from "./helpers/LayerZero.sol";
import {Chain, ThreeChains} from "./helpers/ThreeChains.sol";

/// @notice Payments by others' transactions on the secondary chains: the dollars go to the outbox, the credit to the
/// primary chain, and the message's fee is the caller's.
contract SecondaryPaymentsTest is ThreeChains {
    address private relay_ = makeAddr("relay");
    uint256 private fee;

    function setUp() public override {
        super.setUp();
        fundFloat(EID_1, 1_000e6);
        fundFloat(EID_2, 1_000e6);
        vm.deal(relay_, 1 ether);
        fee = two.bridge.quote(EID_0);
    }

    function testSettle_byTheDoor() public {
        X402Door door = new X402Door(two.minter, two.dollar, two.bridge);
        IUsdc(address(two.dollar)).mint(alice, 50e6);
        IX402Door.Authorization memory a = IX402Door.Authorization(alice, 50e6, 0, block.timestamp + 1 hours, "nonce");
        bytes32 typehash = keccak256(
            "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
        );
        bytes memory signature =
            sign(keccak256(abi.encode(typehash, alice, door, a.value, a.validAfter, a.validBefore, a.nonce)));
        // Too much is paid for the message, and the rest returns to the caller.
        vm.prank(relay_);
        door.settle{value: fee + 1 gwei}(a, signature);
        assertArrives(two, 50e6);
        assertEq(two.dollar.balanceOf(address(two.outbox)), 50e6);
        assertEq(address(door).balance + two.dollar.balanceOf(address(door)) + two.token.balanceOf(address(door)), 0);
    }

    function testTopUp_byAuthorization() public {
        GaslessTopUp relayed = new GaslessTopUp(two.minter, two.dollar, two.bridge);
        IUsdc(address(two.dollar)).mint(alice, 52e6);
        IGaslessTopUp.TopUp memory t =
            IGaslessTopUp.TopUp(alice, alice, 50e6, 2e6, relay_, block.timestamp + 1 hours, "salt");
        bytes32 id = relayed.idOf(t);
        bytes memory signature = sign(keccak256(abi.encode(RECEIVE_TYPEHASH, alice, relayed, 52e6, 0, t.deadline, id)));
        vm.prank(relay_);
        relayed.topUpWithAuthorization{value: fee}(t, signature);
        assertArrives(two, 50e6);
        assertEq(two.dollar.balanceOf(relay_), 2e6);
    }

    /// @dev A stablecoin with 18 decimals and neither permits nor authorizations: an allowance and the terms'
    /// signature.
    function testTopUp_byAllowance18Decimals() public {
        GaslessTopUp relayed = new GaslessTopUp(one.minter, one.dollar, one.bridge);
        PlainDollar(address(one.dollar)).mint(alice, 52e18);
        vm.prank(alice);
        one.dollar.approve(address(relayed), 52e18);
        IGaslessTopUp.TopUp memory t =
            IGaslessTopUp.TopUp(alice, alice, 50e6, 2e6, relay_, block.timestamp + 1 hours, "salt");
        bytes32 separator = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("GaslessTopUp"),
                keccak256("1"),
                block.chainid,
                relayed
            )
        );
        (uint8 v, bytes32 r, bytes32 s) =
            vm.sign(aliceKey, keccak256(abi.encodePacked("\x19\x01", separator, relayed.idOf(t))));
        ITokenMinter.Permit memory none;
        vm.prank(relay_);
        relayed.topUpWithPermit{value: fee}(t, abi.encodePacked(r, s, v), none);
        assertArrives(one, 50e6);
        assertEq(one.dollar.balanceOf(relay_), 2e18);
        assertEq(one.dollar.balanceOf(address(one.outbox)), 50e18);
    }

    function testPull_byAStandingOrder() public {
        StandingOrders orders = new StandingOrders(one.minter, one.dollar, one.bridge);
        PlainDollar(address(one.dollar)).mint(alice, 50e18);
        vm.startPrank(alice);
        one.dollar.approve(address(orders), 50e18);
        orders.set(relay_, 50e6, uint64(block.timestamp + 1 days));
        vm.stopPrank();
        vm.prank(relay_);
        orders.pull{value: fee}(alice, 50e6);
        assertArrives(one, 50e6);
        assertEq(orders.leftToday(alice), 0);
    }

    /* HELPERS */

    /// @dev alice is credited on the primary chain, and the relay paid exactly the message's fee.
    function assertArrives(Chain memory chain, uint256 amount) private {
        Packet memory packet = sentPacket();
        assertEq(relay_.balance, 1 ether - fee);
        assertEq(chain.token.totalSupply(), 0);
        relay(primary.lz, packet);
        assertEq(settlement.creditNanoUsd(alice), amount * 1000);
    }

    /// @dev alice's signature for the stablecoin of secondary chain 2.
    function sign(bytes32 structHash) private view returns (bytes memory) {
        bytes32 separator = two.dollar.DOMAIN_SEPARATOR();
        (uint8 v, bytes32 r, bytes32 s) =
            vm.sign(aliceKey, keccak256(abi.encodePacked("\x19\x01", separator, structHash)));
        return abi.encodePacked(r, s, v);
    }
}
