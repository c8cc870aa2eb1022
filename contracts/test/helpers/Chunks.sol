// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Hashes} from "@openzeppelin/contracts/utils/cryptography/Hashes.sol";

import {IInferenceSettlement} from "../../src/interfaces/IInferenceSettlement.sol";

/// @notice An entry of a chunk's table of agents.
struct Listed {
    address agent;
    uint16 day;
}

/// @notice A part as the settler asks for it: `agent` is an index in the table.
struct AskedPart {
    uint8 agent;
    uint64 amount;
}

/// @notice A record as the settler asks for it.
struct Asked {
    address account;
    uint64 before;
    uint64 amount;
    bytes32 root;
    AskedPart[] parts;
}

/// @notice The layout of chunks and their trees, written plainly and apart from the contract.
library Chunks {
    function encode(Listed[] memory table, Asked[] memory records) internal pure returns (bytes memory data) {
        data = abi.encodePacked(uint8(table.length));
        for (uint256 i; i < table.length; ++i) {
            data = abi.encodePacked(data, table[i].agent, table[i].day);
        }
        for (uint256 i; i < records.length; ++i) {
            Asked memory r = records[i];
            data = abi.encodePacked(data, r.account, r.before, r.amount, r.root, uint8(r.parts.length));
            for (uint256 j; j < r.parts.length; ++j) {
                data = abi.encodePacked(data, r.parts[j].agent, r.parts[j].amount);
            }
        }
    }

    /// @notice A chunk that debits one account, as the provider served it.
    function debit(address account, uint256 before, uint256 amount) internal pure returns (bytes memory) {
        return abi.encodePacked(hex"00", account, uint64(before), uint64(amount), bytes32("root"), uint8(0));
    }

    /// @notice A chunk that debits one account, as one agent served it on `day`.
    function serve(address agent, uint256 day, address account, uint256 before, uint256 amount)
        internal
        pure
        returns (bytes memory)
    {
        bytes memory record =
            abi.encodePacked(account, uint64(before), uint64(amount), bytes32("root"), uint8(1), uint8(0));
        return abi.encodePacked(hex"01", agent, uint16(day), record, uint64(amount));
    }

    /// @notice The records in the data of a {IInferenceSettlement.Settled}.
    function decode(bytes memory data) internal pure returns (IInferenceSettlement.Record[] memory records) {
        uint256 tableEnd = 1 + 22 * number(data, 0, 1);
        records = new IInferenceSettlement.Record[]((data.length - tableEnd) / 69);
        uint256 count;
        for (uint256 offset = tableEnd; offset < data.length; ++count) {
            IInferenceSettlement.Record memory r = records[count];
            r.account = address(uint160(number(data, offset, 20)));
            r.beforeNanoUsd = uint64(number(data, offset + 20, 8));
            r.amountNanoUsd = uint64(number(data, offset + 28, 8));
            r.root = bytes32(number(data, offset + 36, 32));
            r.parts = new IInferenceSettlement.Part[](number(data, offset + 68, 1));
            offset += 69;
            for (uint256 j; j < r.parts.length; ++j) {
                uint256 entry = 1 + 22 * number(data, offset, 1);
                r.parts[j] = IInferenceSettlement.Part({
                    agent: address(uint160(number(data, entry, 20))),
                    day: uint16(number(data, entry + 20, 2)),
                    amountNanoUsd: uint64(number(data, offset + 1, 8))
                });
                offset += 9;
            }
        }
        assembly ("memory-safe") {
            mstore(records, count)
        }
    }

    function leafOf(IInferenceSettlement.Record memory r) internal pure returns (bytes32) {
        bytes memory packed =
            abi.encodePacked(r.account, r.beforeNanoUsd, r.amountNanoUsd, r.root, uint8(r.parts.length));
        for (uint256 i; i < r.parts.length; ++i) {
            packed = abi.encodePacked(packed, r.parts[i].agent, r.parts[i].day, r.parts[i].amountNanoUsd);
        }
        return keccak256(packed);
    }

    function leavesOf(IInferenceSettlement.Record[] memory records) internal pure returns (bytes32[] memory leaves) {
        leaves = new bytes32[](records.length);
        for (uint256 i; i < records.length; ++i) {
            leaves[i] = leafOf(records[i]);
        }
    }

    function rootOf(bytes32[] memory leaves) internal pure returns (bytes32) {
        while (leaves.length > 1) {
            leaves = above(leaves);
        }
        return leaves[0];
    }

    function proofOf(bytes32[] memory leaves, uint256 index) internal pure returns (bytes32[] memory proof) {
        while (leaves.length > 1) {
            uint256 sibling = index ^ 1;
            if (sibling < leaves.length) proof = appended(proof, leaves[sibling]);
            (leaves, index) = (above(leaves), index / 2);
        }
    }

    function above(bytes32[] memory nodes) private pure returns (bytes32[] memory parents) {
        parents = new bytes32[]((nodes.length + 1) / 2);
        for (uint256 i; i < parents.length; ++i) {
            bool isPair = 2 * i + 1 < nodes.length;
            parents[i] = isPair ? Hashes.commutativeKeccak256(nodes[2 * i], nodes[2 * i + 1]) : nodes[2 * i];
        }
    }

    function appended(bytes32[] memory list, bytes32 item) private pure returns (bytes32[] memory longer) {
        longer = new bytes32[](list.length + 1);
        for (uint256 i; i < list.length; ++i) {
            longer[i] = list[i];
        }
        longer[list.length] = item;
    }

    function number(bytes memory data, uint256 offset, uint256 size) private pure returns (uint256 value) {
        for (uint256 i; i < size; ++i) {
            value = value << 8 | uint8(data[offset + i]);
        }
    }
}
