// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Chunks} from "./helpers/Chunks.sol";
import {Packet} from "./helpers/LayerZero.sol";
import {Chain, ThreeChains} from "./helpers/ThreeChains.sol";

/// @notice The gas of bridging, chunks and payments as whole transactions, with LayerZero's code and two verifiers,
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
        for (uint256 i; i < 1_800; ++i) {
            vm.prank(address(minter));
            settlement.activateMinted(1e6, accountOf(i), accountOf(i));
        }
        settle(serve(today));
        settle(chunk(1));
        settlement.payProvider();
        settlement.paySafe(agent);
        settlement.payBack(accountOf(0));
        settle(serve(today));
        settle(chunk(1));
        vm.deal(alice, 1 ether);
    }

    /// @dev Measures LayerZero's own code only. Worker fees differ between chains and change daily.
    function workerFee() internal pure override returns (uint256) {
        return 0;
    }

    function accountOf(uint256 i) internal pure returns (address) {
        return address(uint160(uint256(keccak256(abi.encode("account", i)))));
    }

    /// @dev A chunk that debits `size` accounts, each from its total.
    function chunk(uint256 size) internal view returns (bytes memory data) {
        bytes[] memory pieces = new bytes[](size);
        for (uint256 i; i < size; ++i) {
            address account = accountOf(i);
            (, uint80 debited,) = settlement.accountOf(account);
            bytes32 root = keccak256(abi.encode("root", account, debited));
            pieces[i] = abi.encodePacked(account, uint64(debited), uint64(12_345_678), root, uint8(0));
        }
        return bytes.concat(hex"00", joined(pieces, 0, size));
    }

    /// @dev Halves are joined, so that the memory grows little faster than the data.
    function joined(bytes[] memory pieces, uint256 from, uint256 to) private pure returns (bytes memory) {
        if (to - from == 1) return pieces[from];
        uint256 middle = (from + to) / 2;
        return bytes.concat(joined(pieces, from, middle), joined(pieces, middle, to));
    }

    function serve(uint256 day) internal view returns (bytes memory) {
        (, uint80 debited,) = settlement.accountOf(accountOf(0));
        return Chunks.serve(agent, day, accountOf(0), debited, 12_345_678);
    }

    function settle(bytes memory data) internal {
        vm.prank(settler);
        settlement.settle(uint32(block.timestamp / 1 days), data);
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
        (, uint256 fee,) = two.outbox.quoteFlush(type(uint256).max);
        vm.prank(alice);
        two.outbox.flush{value: fee}(type(uint256).max);
        vm.snapshotGasLastCall("TokenBackingOutbox", "flush");
    }

    function testGas_book() public {
        relay(primary.lz, flushFrom(two, address(this)));
        minter.book(EID_2);
        vm.snapshotGasLastCall("TokenMinter", "book");
    }

    /// @dev A chunk of 1,800 accounts is below 128 KiB and 2^24 gas, the limits of nodes and of EIP-7825.
    function testGas_settle() public {
        vm.prank(timelock);
        settlement.raiseCeiling(1_000e9);
        uint256[6] memory sizes = [uint256(1), 10, 50, 100, 1_000, 1_800];
        // Once before, so that the largest chunk also starts from totals that are not zero.
        settle(chunk(1_800));
        for (uint256 i; i < sizes.length; ++i) {
            bytes memory data = chunk(sizes[i]);
            assertLt(data.length, 128 * 1024 - 512);
            settle(data);
            string memory name = string.concat("settle ", vm.toString(sizes[i]), " accounts");
            uint256 gas = vm.snapshotGasLastCall("InferenceSettlement", name);
            assertLt(gas, 2 ** 24);
            if (sizes[i] == 1_000) assertLe(gas / 1_000, 7_600);
        }
    }

    /// @dev Each record starts at another total than its account's.
    function testGas_settleSkipped() public {
        bytes memory data = chunk(100);
        settle(data);
        settle(data);
        vm.snapshotGasLastCall("InferenceSettlement", "settle 100 accounts, all skipped");
    }

    function testGas_settleServedByAnAgent() public {
        settle(serve(block.timestamp / 1 days));
        vm.snapshotGasLastCall("InferenceSettlement", "settle 1 account served by an agent");
    }

    function testGas_payBack() public {
        settlement.payBack(accountOf(0));
        vm.snapshotGasLastCall("InferenceSettlement", "payBack");
    }

    function testGas_payProvider() public {
        settlement.payProvider();
        vm.snapshotGasLastCall("InferenceSettlement", "payProvider");
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
