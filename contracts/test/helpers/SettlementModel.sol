// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IInferenceSettlement} from "../../src/interfaces/IInferenceSettlement.sol";
import {Asked, Listed} from "./Chunks.sol";
import {ScriptedPool, ScriptedRegistry} from "./ScriptedAgents.sol";

/// @notice The rules of {IInferenceSettlement.settle}, one after the other, without packing, gas or layout. All amounts
/// are nano-dollars.
contract SettlementModel {
    ScriptedPool private immutable POOL;
    ScriptedRegistry private immutable REGISTRY;

    mapping(address account => uint256) public activated;
    mapping(address account => uint256) public debited;
    mapping(address account => uint256) public servedTo;
    mapping(address agent => uint256) public servedBy;
    mapping(address agent => mapping(uint256 day => uint256)) public servedOn;
    mapping(uint256 day => uint256) public paidOn;
    uint256 public toProvider;
    uint256 public totalDebited;

    IInferenceSettlement.Record[] private booked;

    constructor(ScriptedPool pool, ScriptedRegistry registry) {
        (POOL, REGISTRY) = (pool, registry);
    }

    function activate(address account, uint256 amount) external {
        activated[account] += amount;
    }

    /// @notice The records as booked.
    function settle(uint256 day, uint256 ceiling, Listed[] memory table, Asked[] memory records)
        external
        returns (IInferenceSettlement.Record[] memory)
    {
        delete booked;
        for (uint256 i; i < records.length; ++i) {
            if (records[i].before == debited[records[i].account]) book(day, ceiling, table, records[i]);
        }
        return booked;
    }

    function book(uint256 day, uint256 ceiling, Listed[] memory table, Asked memory asked) private {
        uint256 credit = activated[asked.account] - debited[asked.account];
        uint256 room = ceiling > paidOn[day] ? ceiling - paidOn[day] : 0;
        uint256 amount = least(asked.amount, least(credit, room));
        if (amount == 0) return;
        debited[asked.account] += amount;
        paidOn[day] += amount;
        totalDebited += amount;

        IInferenceSettlement.Record storage record = booked.push();
        (record.account, record.root) = (asked.account, asked.root);
        (record.beforeNanoUsd, record.amountNanoUsd) = (asked.before, uint64(amount));
        uint256 rest = amount;
        uint256 served;
        for (uint256 i; i < asked.parts.length; ++i) {
            uint256 part = least(asked.parts[i].amount, rest);
            rest -= part;
            served += serve(record, table[asked.parts[i].agent], part);
        }
        toProvider += amount - served;
        servedTo[asked.account] += served;
    }

    function serve(IInferenceSettlement.Record storage record, Listed memory server, uint256 part)
        private
        returns (uint256 paid)
    {
        uint256 capacity = REGISTRY.isAgent(server.agent) ? POOL.capacityOn(server.agent, server.day) : 0;
        uint256 used = servedOn[server.agent][server.day];
        paid = least(part, capacity > used ? capacity - used : 0);
        if (paid == 0) return 0;
        servedOn[server.agent][server.day] += paid;
        servedBy[server.agent] += paid;
        record.parts.push(IInferenceSettlement.Part(server.agent, server.day, uint64(paid)));
    }

    function least(uint256 a, uint256 b) private pure returns (uint256) {
        return a < b ? a : b;
    }
}
