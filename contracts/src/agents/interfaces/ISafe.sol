// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title ISafeProxyFactory
/// @notice The functions of Safe's proxy factory, version 1.5.0, that are used here.
/// @dev A Safe's address depends on the factory, the hash of its setup and the nonce, and on the singleton.
interface ISafeProxyFactory {
    /// @notice The creation code of every Safe; its constructor argument is the singleton.
    function proxyCreationCode() external pure returns (bytes memory);

    /// @notice Deploys and sets up a Safe in one call. Reverts if it is already deployed.
    function createProxyWithNonce(address singleton, bytes calldata setup, uint256 saltNonce)
        external
        returns (address proxy);
}

/// @title ISafeSetup
/// @notice The one-time setup of a Safe, version 1.5.0.
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
