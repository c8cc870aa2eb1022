// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {RLP} from "@openzeppelin/contracts/utils/RLP.sol";
import {TestBase} from "forge-std/Base.sol";
import {Vm} from "forge-std/Vm.sol";

import {IX402Door} from "../../src/interfaces/IX402Door.sol";

/// @notice Makes a block of two transactions whose second one emitted given logs, and proofs of these logs.
abstract contract EventProofs is TestBase {
    bytes32 internal constant AUTHORIZATION_USED = keccak256("AuthorizationUsed(address,bytes32)");

    /// @dev The type of the receipts (EIP-2718): 0 for none, 0x7e as rollups have it, with more fields.
    uint8 internal receiptType = 2;

    /// @dev A proof of the first `AuthorizationUsed` in the recorded logs, in the block before this one.
    function proofOfRecorded() internal returns (IX402Door.EventProof memory proof) {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        uint256 index;
        while (logs[index].topics[0] != AUTHORIZATION_USED) {
            ++index;
        }
        return proofOf(logs, index);
    }

    function proofOf(Vm.Log[] memory logs, uint256 logIndex) internal returns (IX402Door.EventProof memory proof) {
        bytes memory mine = leaf(0x31, receiptOf(logs));
        bytes memory other = leaf(0x30, receiptOf(new Vm.Log[](0)));
        // The keys of the transactions 0 and 1 are 0x80 and 0x01.
        bytes[] memory children = new bytes[](17);
        for (uint256 i; i < 17; ++i) {
            children[i] = hex"80";
        }
        (children[0], children[8]) = (RLP.encode(keccak256(mine)), RLP.encode(keccak256(other)));
        bytes memory root = RLP.encode(children);

        proof.blockNumber = block.number;
        proof.transactionIndex = 1;
        proof.logIndex = logIndex;
        proof.nodes = new bytes[](2);
        (proof.nodes[0], proof.nodes[1]) = (root, mine);
        proof.header = headerOf(keccak256(root));
        vm.setBlockhash(block.number, keccak256(proof.header));
        vm.roll(block.number + 1);
        vm.setBlockhash(proof.blockNumber, keccak256(proof.header));
    }

    /// @dev The first seven fields suffice; a real header has more.
    function headerOf(bytes32 receiptsRoot) internal view returns (bytes memory) {
        bytes[] memory fields = new bytes[](7);
        for (uint256 i; i < 7; ++i) {
            fields[i] = RLP.encode(keccak256(abi.encode(i, block.number)));
        }
        fields[5] = RLP.encode(receiptsRoot);
        return RLP.encode(fields);
    }

    function leaf(uint8 path, bytes memory value) private pure returns (bytes memory) {
        bytes[] memory fields = new bytes[](2);
        (fields[0], fields[1]) = (RLP.encode(abi.encodePacked(path)), RLP.encode(value));
        return RLP.encode(fields);
    }

    function receiptOf(Vm.Log[] memory logs) private view returns (bytes memory) {
        bytes[] memory encoded = new bytes[](logs.length);
        for (uint256 i; i < logs.length; ++i) {
            encoded[i] = encodeLog(logs[i]);
        }
        bytes[] memory fields = new bytes[](receiptType == 0x7e ? 6 : 4);
        (fields[0], fields[1], fields[2]) =
        (RLP.encode(uint256(1)), RLP.encode(uint256(70_000)), RLP.encode(new bytes(256)));
        fields[3] = RLP.encode(encoded);
        if (receiptType == 0x7e) (fields[4], fields[5]) = (RLP.encode(uint256(9)), RLP.encode(uint256(1)));
        return receiptType == 0 ? RLP.encode(fields) : bytes.concat(bytes1(receiptType), RLP.encode(fields));
    }

    function encodeLog(Vm.Log memory log) private pure returns (bytes memory) {
        bytes[] memory topics = new bytes[](log.topics.length);
        for (uint256 i; i < topics.length; ++i) {
            topics[i] = RLP.encode(log.topics[i]);
        }
        bytes[] memory fields = new bytes[](3);
        (fields[0], fields[1], fields[2]) = (RLP.encode(log.emitter), RLP.encode(topics), RLP.encode(log.data));
        return RLP.encode(fields);
    }
}
