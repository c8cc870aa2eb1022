// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title ChunkCodec
/// @notice Reads and writes the packed bytes of a chunk, whose layout is in {IInferenceSettlement.settle}, and makes
/// the root of its tree. Knows no rules.
/// @dev Callers check lengths: a reader does not, and a writer may change up to {SLACK} bytes after those that it
/// wrote. Addresses in memory are called `to` and `from`.
library ChunkCodec {
    uint256 internal constant HEAD_BYTES = 1;
    uint256 internal constant AGENT_BYTES = 22;
    uint256 internal constant RECORD_BYTES = 69;
    uint256 internal constant PART_BYTES = 9;
    /// @dev A part in the preimage of a leaf, which names the agent and the day in place of their index.
    uint256 internal constant LEAF_PART_BYTES = 30;
    uint256 internal constant SLACK = 24;
    uint256 internal constant MAX_LEAF_BYTES = RECORD_BYTES + LEAF_PART_BYTES * type(uint8).max + SLACK;

    /* READ */

    /// @notice The position of the first byte of `data` in the call data.
    function position(bytes calldata data) internal pure returns (uint256 from) {
        assembly ("memory-safe") {
            from := data.offset
        }
    }

    function agentAt(uint256 from) internal pure returns (bytes22 agentAndDay) {
        assembly ("memory-safe") {
            agentAndDay := shl(80, shr(80, calldataload(from)))
        }
    }

    function recordAt(uint256 from)
        internal
        pure
        returns (address account, uint256 before, uint256 amount, uint256 parts)
    {
        assembly ("memory-safe") {
            account := shr(96, calldataload(from))
            before := shr(192, calldataload(add(from, 20)))
            amount := shr(192, calldataload(add(from, 28)))
            parts := byte(0, calldataload(add(from, 68)))
        }
    }

    function partAt(uint256 from) internal pure returns (uint256 index, uint256 amount) {
        assembly ("memory-safe") {
            index := byte(0, calldataload(from))
            amount := shr(192, calldataload(add(from, 1)))
        }
    }

    /* WRITE */

    /// @notice Copies the first `length` bytes of `data` to the start of `buffer`.
    function putHead(bytes memory buffer, bytes calldata data, uint256 length) internal pure {
        assembly ("memory-safe") {
            calldatacopy(add(buffer, 32), data.offset, length)
        }
    }

    /// @notice Copies the record at `from` with another amount, with a number of parts, and without its parts. Writes
    /// the hash of the copy to `hashTo`.
    function putRecord(uint256 to, uint256 hashTo, uint256 from, uint256 amount, uint256 parts) internal pure {
        assembly ("memory-safe") {
            calldatacopy(to, from, 68)
            // The amount is the end of the word that begins at 4.
            let word := mload(add(to, 4))
            mstore(add(to, 4), or(shl(64, shr(64, word)), amount))
            mstore8(add(to, 68), parts)
            mstore(hashTo, keccak256(to, RECORD_BYTES))
        }
    }

    /// @notice Writes the hash of the record at `from` with `parts` parts, which are at `preimage` behind room for it.
    function putLeaf(uint256 hashTo, uint256 preimage, uint256 from, uint256 parts) internal pure {
        assembly ("memory-safe") {
            mcopy(preimage, from, RECORD_BYTES)
            mstore(hashTo, keccak256(preimage, add(RECORD_BYTES, mul(LEAF_PART_BYTES, parts))))
        }
    }

    /// @notice Writes part number `i` of the record at `to`.
    function putPart(uint256 to, uint256 i, uint256 index, uint256 amount) internal pure {
        assembly ("memory-safe") {
            let part := add(to, add(RECORD_BYTES, mul(i, PART_BYTES)))
            mstore8(part, index)
            mstore(add(part, 1), shl(192, amount))
        }
    }

    /// @notice Writes part number `i` of the preimage of a leaf at `to`.
    function putLeafPart(uint256 to, uint256 i, address agent, uint16 day, uint256 amount) internal pure {
        assembly ("memory-safe") {
            let part := add(to, add(RECORD_BYTES, mul(i, LEAF_PART_BYTES)))
            mstore(part, or(shl(96, agent), or(shl(80, day), shl(16, amount))))
        }
    }

    /* MEMORY AND HASHES */

    /// @notice Memory of `length` bytes, not zeroed.
    function allocate(uint256 length) internal pure returns (bytes memory buffer) {
        assembly ("memory-safe") {
            buffer := mload(64)
            mstore(64, and(add(add(buffer, length), 63), not(31)))
        }
    }

    /// @notice Gives back the memory from `buffer` on.
    function release(bytes memory buffer) internal pure {
        assembly ("memory-safe") {
            mstore(64, buffer)
        }
    }

    /// @notice The address of the first byte of `buffer`.
    function start(bytes memory buffer) internal pure returns (uint256 from) {
        assembly ("memory-safe") {
            from := add(buffer, 32)
        }
    }

    /// @notice Sets the length of `buffer` so that it ends at the address `end`.
    function endAt(bytes memory buffer, uint256 end) internal pure {
        assembly ("memory-safe") {
            mstore(buffer, sub(end, add(buffer, 32)))
        }
    }

    /// @notice The root over the leaves from `first` to `end`, at least one, which are overwritten. Pairs are in order,
    /// sorted before hashing; an odd last node moves up unchanged.
    function rootOf(uint256 first, uint256 end) internal pure returns (bytes32 root) {
        assembly ("memory-safe") {
            for {} gt(sub(end, first), 32) {} {
                let to := first
                let last := sub(end, 32)
                let from := first
                for {} lt(from, last) { from := add(from, 64) } {
                    let node := mload(from)
                    let other := mload(add(from, 32))
                    let order := shl(5, gt(node, other))
                    mstore(order, node)
                    mstore(xor(order, 32), other)
                    mstore(to, keccak256(0, 64))
                    to := add(to, 32)
                }
                if eq(from, last) {
                    mstore(to, mload(last))
                    to := add(to, 32)
                }
                end := to
            }
            root := mload(first)
        }
    }
}
