// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Vm} from "forge-std/Vm.sol";

import {IInferenceSettlement} from "../../src/interfaces/IInferenceSettlement.sol";
import {BaseTest} from "./BaseTest.sol";
import {Asked, AskedPart, Chunks, Listed} from "./Chunks.sol";
import {ScriptedPool, ScriptedRegistry} from "./ScriptedAgents.sol";

/// @notice The primary chain with two accounts of 60 dollars each and an agent with a capacity of 20.
abstract contract SettleTest is BaseTest {
    uint256 internal constant CREDIT = 60e6;
    bytes32 internal constant ROOT = keccak256("root");

    address internal agent = makeAddr("agent");
    address internal safe = makeAddr("safe");
    address internal treasury = makeAddr("treasury");
    ScriptedPool internal pool;
    ScriptedRegistry internal registry;
    uint32 internal today;

    function setUp() public virtual override {
        super.setUp();
        pool = ScriptedPool(factory.deploy("InferencePool", type(ScriptedPool).creationCode));
        registry = ScriptedRegistry(factory.deploy("AgentRegistry", type(ScriptedRegistry).creationCode));
        registry.setAgent(agent, safe, treasury);
        today = uint32(block.timestamp / 1 days);
        pool.setCapacity(agent, today, 20e9);
        activateCredit(alice, CREDIT);
        activateCredit(bob, CREDIT);
    }

    function activateCredit(address account, uint256 amount) internal {
        fundCredit(account, amount);
    }

    function raiseCeiling(uint96 to) internal {
        vm.prank(timelock);
        settlement.raiseCeiling(to);
    }

    function lowerCeiling(uint96 to) internal {
        vm.prank(guardian);
        settlement.lowerCeiling(to);
    }

    /* CHUNKS */

    function debitedOf(address account) internal view returns (uint64) {
        (, uint256 debited,) = settlement.accountOf(account);
        return uint64(debited);
    }

    /// @dev A record without parts that starts at the account's total of debits.
    function ask(address account, uint64 amount) internal view returns (Asked memory asked) {
        (asked.account, asked.before, asked.amount, asked.root) = (account, debitedOf(account), amount, ROOT);
    }

    function list(Asked memory a) internal pure returns (Asked[] memory records) {
        records = new Asked[](1);
        records[0] = a;
    }

    function list(Asked memory a, Asked memory b) internal pure returns (Asked[] memory records) {
        records = new Asked[](2);
        (records[0], records[1]) = (a, b);
    }

    function debit(address account, uint64 amount) internal view returns (bytes memory) {
        return Chunks.debit(account, debitedOf(account), amount);
    }

    function table(address listed, uint256 day) internal pure returns (Listed[] memory entries) {
        entries = new Listed[](1);
        entries[0] = Listed(listed, uint16(day));
    }

    /// @dev A record of `amount`. The first agent of the table served `part` of it.
    function askServed(address account, uint64 amount, uint64 part) internal view returns (Asked memory asked) {
        asked = ask(account, amount);
        asked.parts = new AskedPart[](1);
        asked.parts[0] = AskedPart(0, part);
    }

    /// @dev A chunk of one record. The agent served all of it.
    function serve(address account, uint64 amount, uint256 day) internal view returns (bytes memory) {
        return Chunks.serve(agent, day, account, debitedOf(account), amount);
    }

    function settle(bytes memory data) internal returns (IInferenceSettlement.Record[] memory) {
        return settle(today, data);
    }

    /// @dev Settles, and returns the records of the event; none if there was no event.
    function settle(uint32 day, bytes memory data) internal returns (IInferenceSettlement.Record[] memory records) {
        vm.recordLogs();
        vm.prank(settler);
        settlement.settle(day, data);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        assertLe(logs.length, 1, "one event a chunk");
        if (logs.length == 0) return records;
        (,,, bytes memory booked) = abi.decode(logs[0].data, (uint256, uint256, uint256, bytes));
        records = Chunks.decode(booked);
        bytes32 root = Chunks.rootOf(Chunks.leavesOf(records));
        assertEq(logs[0].topics[2], root, "root");
        assertEq(settlement.blockOf(root), block.number);
    }

    function expectRefusal(bytes memory data, bytes memory reason) internal {
        expectRefusal(today, data, reason);
    }

    function expectRefusal(uint32 day, bytes memory data, bytes memory reason) internal {
        vm.expectRevert(reason);
        vm.prank(settler);
        settlement.settle(day, data);
    }

    /// @dev The position in the call data of byte `offset` of the data: behind the selector, the day, and the data's
    /// offset and length.
    function malformed(uint256 offset) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(IInferenceSettlement.MalformedData.selector, 100 + offset);
    }

    /// @dev I1a, from the settlement's own view.
    function assertBooks() internal view {
        IInferenceSettlement.Books memory books = settlement.books();
        assertEq(books.backing, books.supply + books.credit + books.owed + books.lines, "books");
        assertEq(books.backing, minter.backing() * 1000);
        assertEq(books.supply, token.totalSupply() * 1000);
        assertEq(books.credit, settlement.creditNanoUsd(alice) + settlement.creditNanoUsd(bob));
    }
}
