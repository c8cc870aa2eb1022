// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title ISafeProxyFactory
/// @notice What is used of Safe's proxy factory, version 1.5.0.
/// @dev A Safe's address depends on the factory, the hash of its setup and the nonce, and on the singleton.
interface ISafeProxyFactory {
    /// @notice The creation code of every Safe; its constructor's argument is the singleton.
    function proxyCreationCode() external pure returns (bytes memory);

    /// @notice Deploys a Safe and sets it up in one step. Reverts if it stands already.
    function createProxyWithNonce(address singleton, bytes calldata setup, uint256 saltNonce)
        external
        returns (address proxy);
}

/// @title ISafeSetup
/// @notice How a Safe, version 1.5.0, is set up, once.
interface ISafeSetup {
    function setup(
        address[] calldata owners,
        uint256 threshold,
        address to,
        bytes calldata data,
        address fallbackHandler,
        address paymentToken,
        uint256 payment,
        address payable paymentReceiver
    ) external;
}
