// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TokenMinter} from "../../src/TokenMinter.sol";
import {AgentsTest} from "./helpers/AgentsTest.sol";
import {ISafe} from "./helpers/ISafe.sol";

/// @notice A Safe mints at par. It cannot sign a permit with v, r and s, so it approves and mints in one transaction of
/// several calls.
contract SafeMintTest is AgentsTest {
    uint8 private constant DELEGATE_CALL = 1;
    address private multiSend;

    function setUp() public override {
        super.setUp();
        multiSend = deployCode(string.concat(SAFE, "libraries/MultiSendCallOnly.sol/MultiSendCallOnly.json"));
    }

    function testMintAndActivate_fromASafeInOneTransaction() public {
        usdc.mint(agentSafe, 30e6);
        bytes memory approval = abi.encodeCall(usdc.approve, (address(minter), 30e6));
        bytes memory minting = abi.encodeCall(TokenMinter.mintAndActivate, (30e6, agentSafe));
        bytes memory calls = bytes.concat(callOf(address(usdc), approval), callOf(address(minter), minting));
        sendAll(calls);
        assertEq(settlement.creditNanoUsd(agentSafe), 30e9);
        assertEq(usdc.balanceOf(agentSafe), 0);
        assertEq(usdc.allowance(agentSafe, address(minter)), 0);
    }

    /// @dev One call, encoded for Safe's MultiSend library.
    function callOf(address to, bytes memory data) private pure returns (bytes memory) {
        return abi.encodePacked(uint8(0), to, uint256(0), data.length, data);
    }

    function sendAll(bytes memory calls) private {
        bytes memory data = abi.encodeWithSignature("multiSend(bytes)", calls);
        ISafe safe = ISafe(agentSafe);
        bytes32 hash =
            safe.getTransactionHash(multiSend, 0, data, DELEGATE_CALL, 0, 0, 0, address(0), address(0), safe.nonce());
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(agentOwnerKey, hash);
        bytes memory signature = abi.encodePacked(r, s, v);
        safe.execTransaction(multiSend, 0, data, DELEGATE_CALL, 0, 0, 0, address(0), payable(address(0)), signature);
    }
}
