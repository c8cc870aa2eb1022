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

    function testDefect_stakeWithoutOwner() public {
        act(address(pool), abi.encodeCall(mutantPool.forgetOwner, (people[1], id)));
        assertEq(broken(), "I3 ");
    }

    function testDefect_exitForNothing() public {
        handler.requestExit(1, 2, 1); // the observer knows of the second exit, and finds another amount
        act(address(pool), abi.encodeCall(mutantPool.exitForNothing, (people[1], 1)));
        handler.requestExit(1, 2, 1);
        assertEq(broken(), "I2 ");
    }

    function testDefect_rewardForgotten() public {
        act(address(vault), abi.encodeCall(mutantVault.forgetReward, (id)));
        assertEq(broken(), "I10 ");
    }

    function testDefect_dripForNothing() public {
        act(address(vault), abi.encodeCall(mutantVault.dripMore, (id, 1)));
        assertEq(broken(), "I2 I10 ");
    }

    function testDefect_rewardPaidUncounted() public {
        act(address(vault), abi.encodeCall(mutantVault.payUncounted, (bob, 3)));
        assertEq(broken(), "I2 ");
    }

    function testDefect_rewardCountedTwice() public {
        act(address(vault), abi.encodeCall(mutantVault.countTwice, (id, people[0])));
        assertEq(broken(), "I2 I10 ");
    }

    function testDefect_backingForNothing() public {
        act(address(vault), abi.encodeCall(mutantVault.backForNothing, (id, 1)));
        assertEq(broken(), "I3 ");
    }

    function testDefect_dollarsForgotten() public {
        act(address(converter), abi.encodeCall(mutantConverter.forgetDust, (id)));
        assertEq(broken(), "I10 ");
    }

    function testDefect_feesSentAway() public {
        act(address(converter), abi.encodeCall(mutantConverter.sendPending, (address(staking), bob, 1)));
        assertEq(broken(), "I2 ");
        act(address(converter), abi.encodeCall(mutantConverter.sendPending, (address(usdc), bob, 1)));
        assertEq(broken(), "I2 ");
    }

    function testDefect_rewardWithoutMint() public {
        act(address(converter), abi.encodeCall(mutantConverter.rewardForNothing, (id, 10)));
        assertEq(broken(), "I2 I10 ");
    }

    function act(address target, bytes memory data) private {
        handler.callObserved(target, data);
    }

    /// @dev The names of the invariants that do not hold, in order.
    function broken() private view returns (string memory names) {
        try this.checkI2() {}
        catch {
            names = string.concat(names, "I2 ");
        }
        try this.checkI3() {}
        catch {
            names = string.concat(names, "I3 ");
        }
        try this.checkI6() {}
        catch {
            names = string.concat(names, "I6 ");
        }
        try this.checkI10() {}
        catch {
            names = string.concat(names, "I10 ");
        }
    }
}
