// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {BackerVault} from "../../src/agents/BackerVault.sol";
import {IInferenceStaking} from "../../src/agents/interfaces/IInferenceStaking.sol";
import {AgentsTest} from "./helpers/AgentsTest.sol";

/// @notice A wallet asks a node for the smallest gas limit with which a call succeeds now, and the call runs seconds
/// later. Each call of the vault must then succeed, even if the estimate changed little of the agent's storage.
/// forge-config: default.isolate = true
contract BackerVaultGasTest is AgentsTest {
    address internal id;

    function setUp() public override {
        super.setUp();
        id = address(agent);
        staking.mint(alice, 100e18);
        staking.mint(bob, 100e18);
        for (uint256 i; i < 2; ++i) {
            vm.prank(i == 0 ? alice : bob);
            staking.approve(address(vault), type(uint256).max);
        }
        vm.prank(alice);
        vault.back(id, 1e18);
    }

    /* NOTHING DRIPS */

    function testGasLimit_backWithoutRewards() public {
        checkLaterSeconds(alice, abi.encodeCall(vault.back, (id, 1e18)));
        checkLaterSeconds(bob, abi.encodeCall(vault.back, (id, 1e18)));
    }

    function testGasLimit_unbackWithoutRewards() public {
        checkLaterSeconds(alice, abi.encodeCall(vault.unback, (id, 0.5e18)));
        checkLaterSeconds(alice, abi.encodeCall(vault.unback, (id, 1e18)));
    }

    function testGasLimit_claimWithoutRewards() public {
        checkLaterSeconds(alice, abi.encodeCall(vault.claim, (id)));
    }

    /* THE FIRST REWARDS DRIP */

    function testGasLimit_firstDrip() public {
        startDrip(1);
        // The first change of the agent's storage on this day happens in this second.
        vm.prank(bob);
        vault.back(id, 1e18);
        checkAll();
    }

    /// @dev Seconds pass until the first unit is earned, so the estimate sees no rewards.
    function testGasLimit_slowDrip() public {
        notifyDollars(id, 300);
        converter.convert(id, address(usdc));
        warpTo(1, 0);
        vm.prank(bob);
        vault.back(id, 1e18);
        checkAll();
        vm.warp(block.timestamp + 10 minutes);
        checkAll();
    }

    /* REWARDS HAVE DRIPPED BEFORE */

    function testGasLimit_secondDrip() public {
        startDrip(1);
        warpTo(1, 12 hours);
        vm.prank(alice);
        vault.claim(id);
        startDrip(2);
        vm.prank(bob);
        vault.back(id, 1e18);
        checkAll();
        vm.prank(alice);
        vault.claim(id);
        checkAll();
    }

    /// @dev For a backer that never claimed and has rewards that are accounted for.
    function testGasLimit_countedEarnings() public {
        startDrip(1);
        warpTo(1, 6 hours);
        vm.prank(alice);
        vault.back(id, 1e18);
        checkAll();
    }

    function testGasLimit_offThePrimaryChain() public {
        BackerVault other = new BackerVault(token, staking, IInferenceStaking(address(0)), registry, address(this));
        vault = other;
        vm.prank(alice);
        staking.approve(address(vault), type(uint256).max);
        vm.prank(bob);
        staking.approve(address(vault), type(uint256).max);
        vm.prank(alice);
        vault.back(id, 1e18);
        fundToken(address(vault), 100e6);
        vault.reward(id, 10e6);
        checkLaterSeconds(address(this), abi.encodeCall(vault.reward, (id, 10e6)));
        warpTo(1, 0);
        vm.prank(bob);
        vault.back(id, 1e18);
        checkAll();
        checkLaterSeconds(address(this), abi.encodeCall(vault.reward, (id, 10e6)));
        checkLaterSeconds(address(this), abi.encodeCall(vault.reward, (id, 1)));
    }

    /* THE COST */

    /// @dev In the second of a change, a call costs about the same as a second later.
    function testGasLimit_isNearlyTheSameEverySecond() public {
        startDrip(1);
        vm.prank(bob);
        vault.back(id, 1e18);
        bytes[3] memory calls = [
            abi.encodeCall(vault.back, (id, 1e18)),
            abi.encodeCall(vault.unback, (id, 0.5e18)),
            abi.encodeCall(vault.claim, (id))
        ];
        for (uint256 i; i < calls.length; ++i) {
            uint256 inThisSecond = leastGas(alice, calls[i]);
            uint256 snapshot = vm.snapshotState();
            vm.warp(block.timestamp + 1);
            uint256 inTheNext = leastGas(alice, calls[i]);
            vm.revertToState(snapshot);
            assertGe(inThisSecond, inTheNext);
            assertLt(inThisSecond - inTheNext, 6_000);
        }
    }

    /* HELPERS */

    function checkAll() internal {
        checkLaterSeconds(alice, abi.encodeCall(vault.back, (id, 1e18)));
        checkLaterSeconds(bob, abi.encodeCall(vault.back, (id, 1e18)));
        checkLaterSeconds(alice, abi.encodeCall(vault.unback, (id, 0.5e18)));
        checkLaterSeconds(alice, abi.encodeCall(vault.claim, (id)));
        checkLaterSeconds(bob, abi.encodeCall(vault.claim, (id)));
    }

    /// @dev Estimates now, and runs the same call later from the same state.
    function checkLaterSeconds(address sender, bytes memory call) internal {
        uint256 limit = leastGas(sender, call);
        uint256[4] memory delays = [uint256(0), 1, 2, 3600];
        for (uint256 i; i < delays.length; ++i) {
            uint256 snapshot = vm.snapshotState();
            vm.warp(block.timestamp + delays[i]);
            assertTrue(succeeds(sender, call, limit), string.concat("later by ", vm.toString(delays[i])));
            vm.revertToState(snapshot);
        }
    }

    function leastGas(address sender, bytes memory call) internal returns (uint256 most) {
        uint256 least = 0;
        most = 2_000_000;
        while (most - least > 1) {
            uint256 middle = (least + most) / 2;
            uint256 snapshot = vm.snapshotState();
            bool isEnough = succeeds(sender, call, middle);
            vm.revertToState(snapshot);
            if (isEnough) most = middle;
            else least = middle;
        }
    }

    function succeeds(address sender, bytes memory call, uint256 gas) internal returns (bool success) {
        vm.prank(sender);
        (success,) = address(vault).call{gas: gas}(call);
    }

    /// @dev Rewards received on the day before `day` drip over `day`; the time is its first second.
    function startDrip(uint256 day) internal {
        notifyDollars(id, 100e6);
        converter.convert(id, address(usdc));
        warpTo(day, 0);
    }
}
