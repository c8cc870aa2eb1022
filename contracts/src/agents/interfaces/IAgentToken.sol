// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";

import {IInferencePool} from "../../interfaces/IInferencePool.sol";

/// @title IAgentToken
/// @notice An agent: an ERC-20 of fixed supply with 18 decimals whose address is an identity of its own at gateway and
/// pool. Its owner, an account or a contract such as a Safe, speaks for it.
/// @dev Trust: the owner decides what of the agent's stake is exposed, and nothing else; nobody can take the stake out.
interface IAgentToken is IERC20Metadata {
    /// @notice There is no pool off the primary chain.
    error NoPool();

    /// @notice The pool where the agent's stake is; `address(0)` off the primary chain.
    function POOL() external view returns (IInferencePool);

    /// @notice Who speaks for the agent.
    function owner() external view returns (address);

    /// @notice Caps what of the agent's stake serves, in staked units (18 decimals), from the next day on. An agent that
    /// never set it is not capped; the largest number removes the cap.
    /// @dev Reverts with `OwnableUnauthorizedAccount`, {NoPool}.
    function setReserve(uint256 amount) external;
}
