// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {GaslessTopUp} from "../src/GaslessTopUp.sol";
import {StandingOrders} from "../src/StandingOrders.sol";
import {X402Door} from "../src/X402Door.sol";
import {IGaslessTopUp} from "../src/interfaces/IGaslessTopUp.sol";
import {ITokenBridge} from "../src/interfaces/ITokenBridge.sol";
import {IX402Door} from "../src/interfaces/IX402Door.sol";
import {BaseTest} from "./helpers/BaseTest.sol";
import {EventProofs} from "./helpers/EventProofs.sol";

/// @notice The gas of payments that somebody else sends, as whole transactions with real USDC, for accounts with
/// credit. Each payment writes the slot of its nonce for the first time, as a transfer by authorization does. Recorded
/// in snapshots/.
/// forge-config: default.isolate = true
contract PaymentsGasTest is BaseTest, EventProofs {
    X402Door private door;
    GaslessTopUp private relayed;
    StandingOrders private orders;
    address private relay = makeAddr("relay");

    function setUp() public override {
        super.setUp();
        door = new X402Door(minter, usdc, ITokenBridge(address(0)));
        relayed = new GaslessTopUp(minter, usdc, ITokenBridge(address(0)));
        orders = new StandingOrders(minter, usdc, ITokenBridge(address(0)));
        fundCredit(alice, 1e6);
        usdc.mint(alice, 100e6);
        usdc.mint(relay, 1);
        usdc.mint(bob, 1);
        vm.startPrank(alice);
        usdc.approve(address(orders), 50e6);
        orders.set(relay, 10e6, type(uint64).max);
        vm.stopPrank();
        vm.prank(relay);
        orders.pull(alice, 1e6);
    }

    function testGas_settle() public {
        (IX402Door.Authorization memory a, uint8 v, bytes32 r, bytes32 s) = authorize(address(door));
        door.settle(a, abi.encodePacked(r, s, v));
        vm.snapshotGasLastCall("X402Door", "settle");
    }

    /// @dev The events of the only other transaction of a block of two.
    function testGas_claim() public {
        (IX402Door.Authorization memory a, uint8 v, bytes32 r, bytes32 s) = authorize(address(door));
        vm.recordLogs();
        usdc.transferWithAuthorization(a.from, address(door), a.value, a.validAfter, a.validBefore, a.nonce, v, r, s);
        IX402Door.EventProof memory proof = proofOfRecorded();
        door.claim(proof);
        vm.snapshotGasLastCall("X402Door", "claim in a block of two transactions");
    }

    function testGas_topUpWithAuthorization() public {
        IGaslessTopUp.TopUp memory t =
            IGaslessTopUp.TopUp(alice, alice, 1e6, 1e4, relay, block.timestamp + 1 hours, "salt");
        bytes32 message =
            keccak256(abi.encode(RECEIVE_TYPEHASH, alice, relayed, 1.01e6, 0, t.deadline, relayed.idOf(t)));
        (uint8 v, bytes32 r, bytes32 s) = sign(message);
        vm.prank(relay);
        relayed.topUpWithAuthorization(t, abi.encodePacked(r, s, v));
        vm.snapshotGasLastCall("GaslessTopUp", "topUpWithAuthorization");
    }

    function testGas_pull() public {
        vm.prank(relay);
        orders.pull(alice, 1e6);
        vm.snapshotGasLastCall("StandingOrders", "pull");
    }

    function testGas_transferWithAuthorization() public {
        (IX402Door.Authorization memory a, uint8 v, bytes32 r, bytes32 s) = authorize(bob);
        usdc.transferWithAuthorization(a.from, bob, a.value, a.validAfter, a.validBefore, a.nonce, v, r, s);
        vm.snapshotGasLastCall("Anchors", "USDC: transferWithAuthorization");
    }

    function authorize(address to)
        private
        view
        returns (IX402Door.Authorization memory a, uint8 v, bytes32 r, bytes32 s)
    {
        a = IX402Door.Authorization(alice, 1e6, 0, block.timestamp + 1 hours, "nonce");
        bytes32 typehash = keccak256(
            "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
        );
        (v, r, s) = sign(keccak256(abi.encode(typehash, alice, to, a.value, a.validAfter, a.validBefore, a.nonce)));
    }

    function sign(bytes32 structHash) private view returns (uint8, bytes32, bytes32) {
        return vm.sign(aliceKey, keccak256(abi.encodePacked("\x19\x01", usdc.DOMAIN_SEPARATOR(), structHash)));
    }
}
