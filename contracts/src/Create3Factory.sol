// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Create3} from "@openzeppelin/contracts/utils/Create3.sol";

import {ICreate3Factory} from "./interfaces/ICreate3Factory.sol";

/// @title Create3Factory
/// @notice Deploys each contract at the same address on every chain. See {ICreate3Factory}.
contract Create3Factory is ICreate3Factory {
    /// @inheritdoc ICreate3Factory
    address public immutable OWNER;

    /// @inheritdoc ICreate3Factory
    bool public isSealed;

    constructor(address owner) {
        OWNER = owner;
    }

    modifier onlyOwnerUntilSealed() {
        _checkOwnerUntilSealed();
        _;
    }

    /// @inheritdoc ICreate3Factory
    function deploy(bytes32 salt, bytes calldata creationCode)
        external
        onlyOwnerUntilSealed
        returns (address deployed)
    {
        deployed = Create3.deploy(0, salt, creationCode);
        emit Deployed(salt, deployed);
    }

    /// @inheritdoc ICreate3Factory
    function seal() external onlyOwnerUntilSealed {
        isSealed = true;
        emit Sealed();
    }

    /// @inheritdoc ICreate3Factory
    function addressOf(bytes32 salt) external view returns (address) {
        return Create3.computeAddress(salt);
    }

    function _checkOwnerUntilSealed() internal view {
        require(msg.sender == OWNER, OnlyOwner());
        require(!isSealed, AlreadySealed());
    }
}
