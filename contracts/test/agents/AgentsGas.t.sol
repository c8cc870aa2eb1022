// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AgentToken} from "../../src/agents/AgentToken.sol";
import {IInferenceSettlement} from "../../src/interfaces/IInferenceSettlement.sol";
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
        staking.mint(hook, 1e18);
        staking.mint(alice, 10e18);
        vm.prank(hook);
        staking.approve(address(converter), 1e18);
        vm.startPrank(alice);
        staking.approve(address(vault), 10e18);
        staking.approve(address(pool), 10e18);
        vm.stopPrank();
        usdc.mint(address(treasury), 100e6);
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

    /// @dev The most expensive batch: each serve is the first of an agent and of an account. It fits in a transaction,
    /// whose gas EIP-7825 limits.
    function testGas_settleTheMostExpensiveBatch() public {
        IInferenceSettlement.Batch memory batch;
        (batch.id, batch.root) = (1, "root");
        batch.serves = new IInferenceSettlement.Serve[](settlement.MAX_BATCH_SERVES());
        batch.debits = new IInferenceSettlement.Debit[](settlement.MAX_BATCH_ENTRIES() - batch.serves.length);
        staking.mint(address(this), 200e18);
        staking.approve(address(pool), 200e18);
        for (uint256 i; i < batch.serves.length; ++i) {
            address seller = address(createAgent(agentOwner));
            pool.enterFor(seller, 1e18);
            vm.prank(agentOwner);
            AgentToken(seller).setReserve(1e18);
            batch.serves[i] = IInferenceSettlement.Serve(seller, newAccount(i), 0, 12_345_678);
        }
        for (uint256 i; i < batch.debits.length; ++i) {
            batch.debits[i] = IInferenceSettlement.Debit(newAccount(batch.serves.length + i), 12_345_678);
        }
        warpTo(1, 1 hours);
        batch.day = block.timestamp / 1 days;
        for (uint256 i; i < batch.serves.length; ++i) {
            batch.serves[i].day = uint32(batch.day);
        }
        vm.prank(settler);
        settlement.settle(batch);
        uint256 gas = vm.snapshotGasLastCall("InferenceSettlement", "settle the most expensive batch");
        assertLt(gas, 2 ** 24);
    }

    function newAccount(uint256 i) private returns (address account) {
        account = address(uint160(uint256(keccak256(abi.encode("account", i)))));
        fund(account, 1e6);
        vm.prank(account);
        minter.mintAndActivate(1e6, account);
    }

    function testGas_notifyFee() public {
        vm.prank(hook);
        converter.notifyFee(address(agent), address(staking), 1e18);
        vm.snapshotGasLastCall("AgentFeeConverter", "notifyFee");
    }

    function testGas_convert() public {
        converter.convert(address(agent), address(staking));
        vm.snapshotGasLastCall("AgentFeeConverter", "convert, with its swap");
    }

    function testGas_convertDollars() public {
        converter.convert(address(agent), address(usdc));
        vm.snapshotGasLastCall("AgentFeeConverter", "convert dollars");
    }

    function testGas_back() public {
        vm.prank(alice);
        vault.back(address(agent), 1e18);
        vm.snapshotGasLastCall("BackerVault", "back");
    }

    function testGas_unback() public {
        vm.prank(alice);
        vault.unback(address(agent), 0.5e18);
        vm.snapshotGasLastCall("BackerVault", "unback");
    }

    function testGas_claim() public {
        vm.prank(alice);
        vault.claim(address(agent));
        vm.snapshotGasLastCall("BackerVault", "claim");
    }

    function testGas_enter() public {
        vm.prank(alice);
        pool.enter(1e18);
        vm.snapshotGasLastCall("InferencePool", "enter, the first time");
    }

    function testGas_buy() public {
        treasury.buy();
        vm.snapshotGasLastCall("AgentTreasury", "buy, with its swap");
    }

    function testGas_create() public {
        registry.create("Agent", "AGENT", 1e24, agentOwner);
        vm.snapshotGasLastCall("AgentRegistry", "create");
    }
}
