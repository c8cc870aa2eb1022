// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IUniswapV3Pool} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";

import {AgentFeeLocker} from "../../src/agents/AgentFeeLocker.sol";
import {AgentToken} from "../../src/agents/AgentToken.sol";
import {IPositionManager as ILockedPositions} from "../../src/agents/interfaces/IAgentFeeLocker.sol";
import {Asked, AskedPart, Chunks, Listed} from "../helpers/Chunks.sol";
import {AgentsTest} from "./helpers/AgentsTest.sol";

/// @notice The gas of each operation as a whole transaction, with real USDC, Uniswap pools and Safes, for agents that
/// had fees and backers before. The market has a trade in every block of two seconds, so the start of the window is
/// searched in a long history. Recorded in snapshots/; a run with FORGE_SNAPSHOT_CHECK compares.
/// forge-config: default.isolate = true
contract AgentsGasTest is AgentsTest {
    function setUp() public override {
        super.setUp();
        back(alice, address(agent), 1e18);
        notify(address(agent), staking, 1e18);
        converter.convert(address(agent), address(staking));
        warpTo(1, 1 hours);
        vm.prank(alice);
        vault.claim(address(agent));
        fillHistory();
        notify(address(agent), staking, 1e18);
        notifyDollars(address(agent), 100e6);
    }

    /// @dev A thousand observations, more than a window of half an hour contains.
    function fillHistory() private {
        stakingMarket.increaseObservationCardinalityNext(1000);
        staking.mint(bob, 1e18);
        for (uint256 i; i < 500; ++i) {
            vm.warp(block.timestamp + 2);
            uint256 dollars = trade(bob, stakingMarket, address(staking), staking.balanceOf(bob));
            vm.warp(block.timestamp + 2);
            trade(bob, stakingMarket, address(usdc), dollars);
        }
    }

    /// @dev The most expensive records: each has one part of an agent that serves for the first time, from a table of as
    /// many agents. Then the same accounts, served by one of these agents.
    function testGas_settleAHundredNewAgents() public {
        address[] memory sellers = new address[](100);
        staking.mint(address(this), 200e18);
        staking.approve(address(pool), 200e18);
        for (uint256 i; i < sellers.length; ++i) {
            sellers[i] = address(createAgent(agentOwner));
            pool.enterFor(sellers[i], 1e18);
            vm.prank(agentOwner);
            AgentToken(sellers[i]).setReserve(1e18);
        }
        warpTo(1, 1 hours);
        uint256 day = block.timestamp / 1 days;
        sort(sellers);
        Listed[] memory table = new Listed[](sellers.length);
        Asked[] memory records = new Asked[](sellers.length);
        for (uint256 i; i < sellers.length; ++i) {
            table[i] = Listed(sellers[i], uint16(day));
            (records[i].account, records[i].amount, records[i].root) = (newAccount(i), 12_345_678, keccak256("root"));
            records[i].parts = new AskedPart[](1);
            records[i].parts[0] = AskedPart(uint8(i), 12_345_678);
        }
        bytes memory data = Chunks.encode(table, records);
        vm.prank(settler);
        settlement.settle(uint32(day), data);
        vm.snapshotGasLastCall("InferenceSettlement", "settle 100 accounts, each served by a new agent");
        Listed[] memory one = new Listed[](1);
        one[0] = table[0];
        for (uint256 i; i < sellers.length; ++i) {
            (records[i].before, records[i].amount) = (12_345_678, 1_000_000);
            records[i].parts[0] = AskedPart(0, 1_000_000);
        }
        data = Chunks.encode(one, records);
        vm.prank(settler);
        settlement.settle(uint32(day), data);
        vm.snapshotGasLastCall("InferenceSettlement", "settle 100 accounts, all served by one agent");
        assertEq(settlement.owedProviderNanoUsd(), 0);
    }

    function sort(address[] memory list) private pure {
        for (uint256 i = 1; i < list.length; ++i) {
            for (uint256 j = i; j != 0 && list[j] < list[j - 1]; --j) {
                (list[j], list[j - 1]) = (list[j - 1], list[j]);
            }
        }
    }

    function newAccount(uint256 i) private returns (address account) {
        account = address(uint160(uint256(keccak256(abi.encode("account", i)))));
        fundCredit(account, 1e6);
    }

    function testGas_convert() public {
        converter.convert(address(agent), address(staking));
        vm.snapshotGasLastCall("AgentFeeConverter", "convert, with its swap");
    }

    /// @dev Fees of a purchase and a sale, of a position whose fees were collected before.
    function testGas_collect() public {
        AgentFeeLocker locker =
            new AgentFeeLocker(registry, converter, pool, usdc, address(staking), ILockedPositions(address(positions)));
        IUniswapV3Pool market = createPool(address(agent), address(staking), 3000, 1, 1);
        vm.startPrank(agentOwner);
        assertTrue(agent.transfer(address(this), 1e21));
        assertTrue(agent.transfer(bob, 2e18));
        vm.stopPrank();
        staking.mint(address(this), 1e21);
        staking.mint(bob, 2e18);
        (uint256 id,,) = addPosition(market, 1e21, 1e21, -MAX_TICK, MAX_TICK);
        positions.safeTransferFrom(address(this), address(locker), id, abi.encode(agent));
        for (uint256 i; i < 2; ++i) {
            trade(bob, market, address(staking), 1e18);
            trade(bob, market, address(agent), 1e18);
            locker.collect(id);
        }
        vm.snapshotGasLastCall("AgentFeeLocker", "collect, with both releases");
    }
}
