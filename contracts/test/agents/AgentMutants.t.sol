// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AgentsChecks} from "./helpers/AgentsChecks.sol";
import {MutantConverter, MutantPool, MutantVault} from "./helpers/AgentMutants.sol";

/// @notice Each invariant check can fail: each defect is detected by exactly the invariants that it violates.
contract AgentMutantsTest is AgentsChecks {
    MutantPool internal mutantPool;
    MutantVault internal mutantVault;
    MutantConverter internal mutantConverter;
    address internal id;

    function poolCode() internal pure override returns (bytes memory) {
        return type(MutantPool).creationCode;
    }

    function vaultCode() internal pure override returns (bytes memory) {
        return type(MutantVault).creationCode;
    }

    function converterCode() internal pure override returns (bytes memory) {
        return type(MutantConverter).creationCode;
    }

    function setUp() public override {
        super.setUp();
        mutantPool = MutantPool(address(pool));
        mutantVault = MutantVault(address(vault));
        mutantConverter = MutantConverter(address(converter));
        startHandler();
        id = agents[0];
        handler.back(0, 0, 5e18);
        handler.enter(1, 2, 7e18, 2);
        handler.earn(0, 500e6, true);
        warpTo(1, 1 hours);
        handler.serve(0, 3e9);
        handler.claim(0, 0);
        handler.earn(0, 1e18, false);
        handler.notifyFee(0, 500e6, true);
        handler.notifyFee(0, 1e18, false);
        handler.requestExit(1, 2, 1e18);
    }

    function testChecks_holdBeforeTheDefect() public view {
        assertEq(broken(), "");
        assertGt(handler.claimed(id), 0);
        assertGt(vault.undripped(id), 0);
        assertGt(settlement.totalDebitedNanoUsd(), 0);
    }

    function testDefect_stakeForNothing() public {
        act(address(pool), abi.encodeCall(mutantPool.stakeForNothing, (people[1], 30e18)));
        assertEq(broken(), "I2 ");
        handler.wait(1 days);
        assertEq(broken(), "I2 I6 ");
    }

    function testDefect_capacityChangedToday() public {
        handler.wait(1 days);
        act(address(pool), abi.encodeCall(mutantPool.reserveForToday, (id)));
        assertEq(broken(), "I6 ");
    }

    function testDefect_exitForNothing() public {
        handler.requestExit(1, 2, 1); // the observer knows of the second exit, and finds another amount
        act(address(pool), abi.encodeCall(mutantPool.exitForNothing, (people[1], 1)));
        handler.requestExit(1, 2, 1);
        assertEq(broken(), "I2 ");
    }

    function testDefects_eachOfOneCall() public {
        check(address(pool), abi.encodeCall(mutantPool.forgetOwner, (people[1], id)), "I3 ");
        check(address(vault), abi.encodeCall(mutantVault.forgetReward, (id)), "I10 ");
        check(address(vault), abi.encodeCall(mutantVault.dripMore, (id, 1)), "I2 I10 ");
        check(address(vault), abi.encodeCall(mutantVault.payUncounted, (bob, 3)), "I2 ");
        check(address(vault), abi.encodeCall(mutantVault.countTwice, (id, people[0])), "I2 I10 ");
        check(address(vault), abi.encodeCall(mutantVault.backForNothing, (id, 1)), "I3 ");
        check(address(converter), abi.encodeCall(mutantConverter.forgetDust, (id)), "I10 ");
        check(address(converter), abi.encodeCall(mutantConverter.sendPending, (address(staking), bob, 1)), "I2 ");
        check(address(converter), abi.encodeCall(mutantConverter.sendPending, (address(usdc), bob, 1)), "I2 ");
        check(address(converter), abi.encodeCall(mutantConverter.rewardForNothing, (id, 10)), "I2 I10 ");
    }

    /// @dev Makes a call, checks which invariants it violates, and takes it back.
    function check(address target, bytes memory call, string memory expected) private {
        uint256 before = vm.snapshotState();
        act(target, call);
        assertEq(broken(), expected, vm.toString(abi.encodePacked(bytes4(call))));
        assertTrue(vm.revertToStateAndDelete(before));
    }

    function act(address target, bytes memory data) private {
        handler.callObserved(target, data);
    }

    function broken() private view returns (string memory) {
        return failing("I2 I3 I6 I10");
    }
}
