// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice A wallet that signs by ERC-1271: it accepts one digest, with any signature.
contract SigningWallet {
    bytes32 public accepted;

    function accept(bytes32 digest) external {
        accepted = digest;
    }

    function isValidSignature(bytes32 digest, bytes calldata) external view returns (bytes4) {
        return digest == accepted ? this.isValidSignature.selector : bytes4(0);
    }
}
