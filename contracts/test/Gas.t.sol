// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {BaseTest} from "./helpers/BaseTest.sol";

/// @notice The gas of each operation as a whole transaction, with real USDC, for holders and accounts with a balance.
/// Recorded in snapshots/; a run with FORGE_SNAPSHOT_CHECK compares.
/// forge-config: default.isolate = true
contract GasTest is BaseTest {
    function setUp() public override {
        super.setUp();
        fundToken(alice, 100e6);
        fundToken(bob, 100e6);
        vm.prank(alice);
        settlement.activate(1e6);
        usdc.mint(alice, 100e6);
        vm.prank(alice);
        usdc.approve(address(minter), 50e6);
    }

    function testGas_transferToAHolder() public {
        vm.prank(alice);
        bool ok = token.transfer(bob, 1e6);
        vm.snapshotGasLastCall("InferenceToken", "transfer to a holder");
        assertTrue(ok);
    }

    function testGas_permit() public {
        (uint8 v, bytes32 r, bytes32 s) = signTokenPermit(address(token), aliceKey, bob, 1e6);
        token.permit(alice, bob, 1e6, block.timestamp, v, r, s);
        vm.snapshotGasLastCall("InferenceToken", "permit");
    }

    function testGas_mint() public {
        vm.prank(alice);
        minter.mint(1e6);
        vm.snapshotGasLastCall("TokenMinter", "mint");
    }

    function testGas_mintAndActivate() public {
        vm.prank(alice);
        minter.mintAndActivate(1e6, alice);
        vm.snapshotGasLastCall("TokenMinter", "mintAndActivate");
    }

    function testGas_activate() public {
        vm.prank(alice);
        settlement.activate(1e6);
        vm.snapshotGasLastCall("InferenceSettlement", "activate");
    }
}
