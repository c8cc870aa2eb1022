// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IInferenceSettlement} from "../src/interfaces/IInferenceSettlement.sol";
import {Packet} from "./helpers/LayerZero.sol";
import {Chain, ThreeChains} from "./helpers/ThreeChains.sol";

/// @notice The gas of bridging, batches and payments as whole transactions, with LayerZero's code and two verifiers,
/// when all storage they use was written before. Recorded in snapshots/.
/// forge-config: default.isolate = true
contract ThreeChainsGasTest is ThreeChains {
    address internal agent = makeAddr("agent");
    address internal safe = makeAddr("safe");
    address internal treasury = makeAddr("treasury");

    function setUp() public override {
        super.setUp();
        fundFloat(EID_2, 1_000e6);
        fundTokenOn(two, alice, 100e6);
        fundToken(alice, 100e6);
        // The first write to a storage slot costs more, so it happens before the measurement.
        relay(primary.lz, activateFrom(two, alice, 1e6));
        relay(two.lz, bridgeFrom(primary, two, alice, 1e6));
        land(two);
        fundTokenOn(two, alice, 20e6);
        vm.warp(block.timestamp + 1 hours);
        registry.setAgent(agent, safe, treasury);
        uint256 today = block.timestamp / 1 days;
        pool.setCapacity(agent, today, 100e9);
        for (uint256 i; i < 200; ++i) {
            fund(accountOf(i), 1e6);
            vm.prank(accountOf(i));
            minter.mintAndActivate(1e6, accountOf(i));
        }
        vm.prank(settler);
        settlement.settle(batchOf(1, 1, 1));
        settlement.payProvider();
        settlement.paySafe(agent);
        vm.prank(settler);
        settlement.settle(batchOf(2, 1, 1));
        vm.deal(alice, 1 ether);
    }

    /// @dev Measures LayerZero's own code only. Worker fees differ between chains and change daily.
    function workerFee() internal pure override returns (uint256) {
        return 0;
    }

    function accountOf(uint256 i) internal pure returns (address) {
        return address(uint160(uint256(keccak256(abi.encode("account", i)))));
    }

    function batchOf(uint256 id, uint256 debits, uint256 serves)
        internal
        view
        returns (IInferenceSettlement.Batch memory batch)
    {
        (batch.id, batch.day, batch.root) = (id, block.timestamp / 1 days, keccak256("root"));
        batch.debits = new IInferenceSettlement.Debit[](debits);
        for (uint256 i; i < debits; ++i) {
            batch.debits[i] = IInferenceSettlement.Debit(accountOf(i), 12_345_678);
        }
        batch.serves = new IInferenceSettlement.Serve[](serves);
        for (uint256 i; i < serves; ++i) {
            batch.serves[i] = IInferenceSettlement.Serve(agent, accountOf(0), uint32(batch.day), 12_345_678);
        }
    }

    function testGas_bridge() public {
        uint256 fee = two.bridge.quote(EID_0);
        vm.prank(alice);
        two.bridge.bridge{value: fee}(EID_0, 1e6, alice, alice);
        vm.snapshotGasLastCall("TokenBridge", "bridge");
    }

    function testGas_activateOnBase() public {
        uint256 fee = two.bridge.quote(EID_0);
        vm.prank(alice);
        two.bridge.activateOnBase{value: fee}(1e6);
        vm.snapshotGasLastCall("TokenBridge", "activateOnBase");
    }

    function testGas_deliverActivation() public {
        Packet memory packet = activateFrom(two, alice, 1e6);
        verify(primary.lz, packet);
        execute(primary.lz, packet);
        vm.snapshotGasLastCall("TokenBridge", "lzReceive of an activation");
    }

    function testGas_deliverTransfer() public {
        Packet memory packet = bridgeFrom(two, primary, alice, 1e6);
        verify(primary.lz, packet);
        execute(primary.lz, packet);
        vm.snapshotGasLastCall("TokenBridge", "lzReceive of a transfer");
    }

    function testGas_deliverTransferToASecondaryChain() public {
        Packet memory packet = bridgeFrom(primary, two, alice, 1e6);
        verify(two.lz, packet);
        execute(two.lz, packet);
        vm.snapshotGasLastCall("TokenBridge", "lzReceive of a transfer, secondary chain");
    }

    function testGas_flush() public {
        (, uint256 fee,) = two.outbox.quoteFlush();
        vm.prank(alice);
        two.outbox.flush{value: fee}();
        vm.snapshotGasLastCall("TokenBackingOutbox", "flush");
    }

    function testGas_book() public {
        relay(primary.lz, flushFrom(two, address(this)));
        minter.book(EID_2);
        vm.snapshotGasLastCall("TokenMinter", "book");
    }

    function testGas_settle() public {
        uint256[5] memory sizes = [uint256(1), 10, 50, 100, 200];
        for (uint256 i; i < sizes.length; ++i) {
            IInferenceSettlement.Batch memory batch = batchOf(3 + i, sizes[i], 0);
            vm.prank(settler);
            settlement.settle(batch);
            vm.snapshotGasLastCall("InferenceSettlement", string.concat("settle ", vm.toString(sizes[i]), " accounts"));
        }
    }

    function testGas_settleServedByAnAgent() public {
        IInferenceSettlement.Batch memory batch = batchOf(3, 0, 1);
        vm.prank(settler);
        settlement.settle(batch);
        vm.snapshotGasLastCall("InferenceSettlement", "settle 1 account served by an agent");
    }

    function testGas_payProvider() public {
        settlement.payProvider();
        vm.snapshotGasLastCall("InferenceSettlement", "payProvider");
    }

    function testGas_paySafe() public {
        settlement.paySafe(agent);
        vm.snapshotGasLastCall("InferenceSettlement", "paySafe");
    }
}

/// @notice The gas of the first delivery of each kind, which writes every storage slot for the first time. The smallest
/// message gas of a deployment is above these values. Recorded in snapshots/.
/// forge-config: default.isolate = true
contract FirstDeliveryGasTest is ThreeChains {
    function testGas_firstActivation() public {
        fundFloat(EID_2, 1_000e6);
        fundTokenOn(two, alice, 1e6);
        deliver(primary, activateFrom(two, alice, 1e6), "first lzReceive of an activation");
    }

    function testGas_firstTransfer() public {
        fundTokenOn(two, alice, 20e6);
        land(two);
        deliver(primary, bridgeFrom(two, primary, alice, 1e6), "first lzReceive of a transfer");
    }

    function testGas_firstTransferToASecondaryChain() public {
        fundToken(alice, 1e6);
        deliver(two, bridgeFrom(primary, two, alice, 1e6), "first lzReceive of a transfer, secondary chain");
    }

    /// @dev A message that waits is stored.
    function testGas_firstWaiting() public {
        fundTokenOn(two, alice, 1e6);
        deliver(primary, activateFrom(two, alice, 1e6), "first lzReceive of a message that waits");
    }

    function deliver(Chain memory to, Packet memory packet, string memory name) private {
        verify(to.lz, packet);
        execute(to.lz, packet);
        vm.snapshotGasLastCall("TokenBridge", name);
    }
}
