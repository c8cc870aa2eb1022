// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";

import {IInferenceSettlement} from "../src/interfaces/IInferenceSettlement.sol";
import {Asked, Chunks, Listed} from "./helpers/Chunks.sol";
import {SettleTest} from "./helpers/SettleTest.sol";

/// @notice Leaves, trees and {InferenceSettlement.verify}.
contract SettleProofsTest is SettleTest {
    function testFuzzLeafOf_isTheDocumentedHash(IInferenceSettlement.Use calldata use, uint64 chainId) public {
        vm.chainId(chainId == 0 ? 1 : chainId);
        bytes32 inner = keccak256(
            bytes.concat(
                abi.encode(block.chainid, address(settlement), use.account, use.receipt, use.endsAtNanoUsd),
                abi.encode(use.costNanoUsd, use.chargedNanoUsd, use.dayServed, use.server, use.offerHash, use.snapshot)
            )
        );
        assertEq(settlement.leafOf(use), keccak256(abi.encode(inner)));
    }

    /// @dev Each record of chunks of 1 to 40 records has a proof that OpenZeppelin's MerkleProof takes.
    function testSettle_treesOfEverySize() public {
        raiseCeiling(type(uint96).max);
        for (uint256 size = 1; size <= 40; ++size) {
            Asked[] memory records = new Asked[](size);
            for (uint256 i; i < size; ++i) {
                records[i] = askServed(alice, uint64(i + 1), uint64(i % 3));
                records[i].before = i == 0 ? records[0].before : records[i - 1].before + records[i - 1].amount;
            }
            bytes32[] memory leaves = Chunks.leavesOf(settle(Chunks.encode(table(agent, today), records)));
            assertEq(leaves.length, size);
            for (uint256 i; i < size; ++i) {
                assertTrue(MerkleProof.verify(Chunks.proofOf(leaves, i), Chunks.rootOf(leaves), leaves[i]));
            }
        }
    }

    /// @dev A statement of `count` uses of 1, 2, 3, ... nano-dollars, which starts at `before`.
    function usesFrom(address account, uint256 before, uint256 count)
        private
        view
        returns (IInferenceSettlement.Use[] memory uses, bytes32[] memory leaves)
    {
        uses = new IInferenceSettlement.Use[](count);
        leaves = new bytes32[](count);
        for (uint256 i; i < count; ++i) {
            uses[i].account = account;
            uses[i].receipt = bytes32(i);
            (uses[i].costNanoUsd, uses[i].chargedNanoUsd) = (i + 1, i + 1);
            before += i + 1;
            uses[i].endsAtNanoUsd = before;
            leaves[i] = settlement.leafOf(uses[i]);
        }
    }

    function testFuzzVerify_wholeStatement(uint256 count, uint256 others) public {
        (count, others) = (bound(count, 1, 12), bound(others, 0, 5));
        (IInferenceSettlement.Use[] memory uses, bytes32[] memory leaves) = usesFrom(alice, 0, count);
        Asked[] memory records = new Asked[](others + 1);
        records[0] = ask(alice, uint64(count * (count + 1) / 2));
        records[0].root = Chunks.rootOf(leaves);
        for (uint256 i; i < others; ++i) {
            records[i + 1] = ask(bob, 7);
            records[i + 1].before = uint64(7 * i);
        }
        bytes memory data = Chunks.encode(new Listed[](0), records);
        IInferenceSettlement.Record[] memory asked = Chunks.decode(data);
        bytes32[] memory recordProof = Chunks.proofOf(Chunks.leavesOf(asked), 0);
        assertFalse(settlement.verify(uses[0], Chunks.proofOf(leaves, 0), asked[0], recordProof), "not booked yet");
        settle(data);
        for (uint256 i; i < count; ++i) {
            assertTrue(settlement.verify(uses[i], Chunks.proofOf(leaves, i), asked[0], recordProof));
        }
    }

    /// @dev A statement that is booked in two records: each use belongs to the record that debited it, and one to both.
    function testVerify_statementPaidInParts() public {
        (IInferenceSettlement.Use[] memory uses, bytes32[] memory leaves) = usesFrom(alice, 0, 4);
        Asked memory asked = ask(alice, 10);
        asked.root = Chunks.rootOf(leaves);
        lowerCeiling(4);
        IInferenceSettlement.Record memory first = settle(Chunks.encode(new Listed[](0), list(asked)))[0];
        assertEq(first.amountNanoUsd, 4);
        raiseCeiling(50e9);
        (asked.before, asked.amount) = (4, 6);
        IInferenceSettlement.Record memory second = settle(Chunks.encode(new Listed[](0), list(asked)))[0];
        // Uses end at 1, 3, 6 and 10: the third begins at 3 and is debited by both.
        bool[4] memory isOfFirst = [true, true, true, false];
        bool[4] memory isOfSecond = [false, false, true, true];
        for (uint256 i; i < 4; ++i) {
            bytes32[] memory proof = Chunks.proofOf(leaves, i);
            assertEq(settlement.verify(uses[i], proof, first, new bytes32[](0)), isOfFirst[i]);
            assertEq(settlement.verify(uses[i], proof, second, new bytes32[](0)), isOfSecond[i]);
        }
    }

    function testVerify_edgesOfARecord() public {
        (IInferenceSettlement.Use[] memory uses, bytes32[] memory leaves) = usesFrom(alice, 0, 3);
        Asked memory asked = ask(alice, 6);
        asked.root = Chunks.rootOf(leaves);
        lowerCeiling(3);
        IInferenceSettlement.Record memory first = settle(Chunks.encode(new Listed[](0), list(asked)))[0];
        raiseCeiling(50e9);
        (asked.before, asked.amount) = (3, 3);
        IInferenceSettlement.Record memory second = settle(Chunks.encode(new Listed[](0), list(asked)))[0];
        assertTrue(settlement.verify(uses[1], Chunks.proofOf(leaves, 1), first, new bytes32[](0)));
        assertFalse(settlement.verify(uses[2], Chunks.proofOf(leaves, 2), first, new bytes32[](0)));
        assertFalse(settlement.verify(uses[1], Chunks.proofOf(leaves, 1), second, new bytes32[](0)));
        assertTrue(settlement.verify(uses[2], Chunks.proofOf(leaves, 2), second, new bytes32[](0)));
    }

    /// @dev A statement that begins within a use charges the rest of it: an earlier record debited none of this.
    function testVerify_useChargedInPart() public {
        (IInferenceSettlement.Use[] memory uses,) = usesFrom(alice, 0, 1);
        (uses[0].endsAtNanoUsd, uses[0].costNanoUsd, uses[0].chargedNanoUsd) = (5, 5, 3);
        Asked memory asked = ask(alice, 2);
        asked.root = settlement.leafOf(uses[0]);
        IInferenceSettlement.Record memory first = settle(Chunks.encode(new Listed[](0), list(asked)))[0];
        (asked.before, asked.amount) = (2, 3);
        IInferenceSettlement.Record memory second = settle(Chunks.encode(new Listed[](0), list(asked)))[0];
        assertFalse(settlement.verify(uses[0], new bytes32[](0), first, new bytes32[](0)));
        assertTrue(settlement.verify(uses[0], new bytes32[](0), second, new bytes32[](0)));
    }

    /// @dev The settler repeats a root in a record that its uses do not lie in, and in a record of another account.
    function testVerify_repeatedStatement() public {
        (IInferenceSettlement.Use[] memory uses, bytes32[] memory leaves) = usesFrom(alice, 0, 2);
        Asked memory asked = ask(alice, 3);
        asked.root = Chunks.rootOf(leaves);
        settle(Chunks.encode(new Listed[](0), list(asked)));
        asked.before = 3;
        IInferenceSettlement.Record memory again = settle(Chunks.encode(new Listed[](0), list(asked)))[0];
        Asked memory stranger = ask(bob, 3);
        stranger.root = asked.root;
        IInferenceSettlement.Record memory bobs = settle(Chunks.encode(new Listed[](0), list(stranger)))[0];
        for (uint256 i; i < 2; ++i) {
            assertFalse(settlement.verify(uses[i], Chunks.proofOf(leaves, i), again, new bytes32[](0)));
            assertFalse(settlement.verify(uses[i], Chunks.proofOf(leaves, i), bobs, new bytes32[](0)));
        }
    }

    /// @dev Any change of use, record or proofs fails.
    function testFuzzVerify_changed(uint256 kind, bytes32 noise) public {
        (IInferenceSettlement.Use[] memory uses, bytes32[] memory leaves) = usesFrom(alice, 0, 4);
        Asked memory asked = askServed(alice, 10, 5);
        asked.root = Chunks.rootOf(leaves);
        IInferenceSettlement.Record[] memory booked =
            settle(Chunks.encode(table(agent, today), list(asked, ask(bob, 1))));
        (bytes32[] memory useProof, bytes32[] memory recordProof) =
            (Chunks.proofOf(leaves, 1), Chunks.proofOf(Chunks.leavesOf(booked), 0));
        (IInferenceSettlement.Use memory use, IInferenceSettlement.Record memory record) = (uses[1], booked[0]);
        assertTrue(settlement.verify(use, useProof, record, recordProof));
        kind = bound(kind, 0, 13);
        vm.assume(noise != 0);
        if (kind == 0) use.account = bob;
        else if (kind == 1) use.receipt ^= noise;
        else if (kind == 2) use.endsAtNanoUsd ^= uint256(noise);
        else if (kind == 3) use.costNanoUsd ^= uint256(noise);
        else if (kind == 4) use.chargedNanoUsd ^= uint256(noise);
        else if (kind == 5) use.dayServed ^= uint256(noise);
        else if (kind == 6) use.server = agent;
        else if (kind == 7) use.offerHash ^= noise;
        else if (kind == 8) use.snapshot ^= noise;
        else if (kind == 9) record.amountNanoUsd += 1;
        else if (kind == 10) record.parts[0].day += 1;
        else if (kind == 11) record.parts = new IInferenceSettlement.Part[](0);
        else if (kind == 12) recordProof[0] ^= noise;
        else useProof[0] ^= noise;
        assertFalse(settlement.verify(use, useProof, record, recordProof));
    }

    /// @dev An inner node of a statement's tree, and a record of 256 parts, prove nothing.
    function testVerify_impossibleRecords() public {
        (IInferenceSettlement.Use[] memory uses, bytes32[] memory leaves) = usesFrom(alice, 0, 2);
        Asked memory asked = ask(alice, 3);
        asked.root = Chunks.rootOf(leaves);
        IInferenceSettlement.Record memory record = settle(Chunks.encode(new Listed[](0), list(asked)))[0];
        assertTrue(settlement.verify(uses[0], Chunks.proofOf(leaves, 0), record, new bytes32[](0)));
        record.parts = new IInferenceSettlement.Part[](256);
        assertFalse(settlement.verify(uses[0], Chunks.proofOf(leaves, 0), record, new bytes32[](0)));
        record.parts = new IInferenceSettlement.Part[](0);
        assertFalse(settlement.verify(uses[0], new bytes32[](0), record, new bytes32[](0)));
    }
}
