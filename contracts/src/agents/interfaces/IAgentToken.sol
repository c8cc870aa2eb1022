// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";

import {IInferencePool} from "../../interfaces/IInferencePool.sol";

/// @title IAgentToken
/// @notice An agent: an ERC-20 with fixed supply and 18 decimals, whose address is an identity at the gateway and the
/// pool. Its owner, an account or a contract such as a Safe, acts for it.
/// @dev Trust: the owner can only cap how much of the agent's stake can be used. No one can withdraw the stake.
interface IAgentToken is IERC20Metadata {
    /// @notice This chain has no pool, because it is not the primary chain.
    error NoPool();

    /// @notice The pool that holds the agent's stake; `address(0)` off the primary chain.
    function POOL() external view returns (IInferencePool);

    /// @notice The owner of the agent.
    function owner() external view returns (address);

    /// @notice Caps how much of the agent's stake can be used, in staked units (18 decimals), effective the next day.
    /// An agent that never sets a cap has none; the maximum value removes the cap.
    /// @dev Reverts with `OwnableUnauthorizedAccount` or {NoPool}.
    function setReserve(uint256 amount) external;
}
