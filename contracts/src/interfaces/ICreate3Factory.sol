// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title ICreate3Factory
/// @notice Deploys every contract of the system at an address that depends on this factory and a salt alone, so that it
/// is known before, may differ in its constructor's arguments, and is the same on every chain.
/// @dev Trust: the owner, fixed at construction and part of the factory's own address, decides what stands at each salt
/// until it seals the factory; from then on nobody can. Source: OpenZeppelin's Create3.
interface ICreate3Factory {
    /// @notice `deployed` now stands at `salt`.
    event Deployed(bytes32 indexed salt, address indexed deployed);

    /// @notice Nothing can be deployed any more.
    event Sealed();

    /// @notice The caller is not the owner.
    error OnlyOwner();

    /// @notice The factory is sealed.
    error AlreadySealed();

    /// @notice Who deploys and seals.
    function OWNER() external view returns (address);

    /// @notice Whether the factory is sealed.
    function isSealed() external view returns (bool);

    /// @notice Deploys `creationCode` (with its constructor's arguments) at `salt`.
    /// @dev Reverts with {OnlyOwner}, {AlreadySealed}, OpenZeppelin's `FailedDeployment` if the salt is taken,
    /// `Create3EmptyBytecode`, or as the constructor does.
    function deploy(bytes32 salt, bytes calldata creationCode) external returns (address deployed);

    /// @notice Ends deployment for ever.
    /// @dev Reverts with {OnlyOwner}, {AlreadySealed}.
    function seal() external;

    /// @notice Where `salt` is or will be deployed.
    function addressOf(bytes32 salt) external view returns (address);
}
