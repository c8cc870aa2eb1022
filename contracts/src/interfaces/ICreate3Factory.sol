// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title ICreate3Factory
/// @notice Deploys every contract of the system at an address that depends only on this factory and a salt. The address
/// is known before deployment, does not depend on constructor arguments, and is the same on every chain.
/// @dev Trust: the owner is fixed at construction and is part of the factory's own address. The owner decides what is
/// deployed at each salt until the factory is sealed; after that, no one can deploy. Source: OpenZeppelin's Create3.
interface ICreate3Factory {
    /// @notice `deployed` was deployed at `salt`.
    event Deployed(bytes32 indexed salt, address indexed deployed);

    /// @notice The factory was sealed: it can deploy nothing more.
    event Sealed();

    /// @notice The caller is not the owner.
    error OnlyOwner();

    /// @notice The factory is sealed.
    error AlreadySealed();

    /// @notice The account that may deploy and seal.
    function OWNER() external view returns (address);

    /// @notice Whether the factory is sealed.
    function isSealed() external view returns (bool);

    /// @notice Deploys `creationCode` (including the constructor arguments) at `salt`.
    /// @dev Reverts with {OnlyOwner}, {AlreadySealed}, `Create3EmptyBytecode`, OpenZeppelin's `FailedDeployment` if the
    /// salt is taken, or with the error of the constructor.
    function deploy(bytes32 salt, bytes calldata creationCode) external returns (address deployed);

    /// @notice Disables deployment permanently.
    /// @dev Reverts with {OnlyOwner}, {AlreadySealed}.
    function seal() external;

    /// @notice The address at which `salt` is or will be deployed.
    function addressOf(bytes32 salt) external view returns (address);
}
