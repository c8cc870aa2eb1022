// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title IAgentRegistry
/// @notice Which agent tokens were born on this chain, and who is paid for them.
/// @dev Trust: the settlement looks an agent's payees up when it pays, so that what is owed follows a replaced Safe.
interface IAgentRegistry {
    /// @notice Whether `agentToken` was created by this registry, which proves that it was born on this chain.
    function isAgent(address agentToken) external view returns (bool);

    /// @notice The agent's Safe, or `address(0)` of an unknown agent.
    function safeOf(address agentToken) external view returns (address);

    /// @notice The agent's permalocked treasury, or `address(0)` of an unknown agent or off the primary chain.
    function treasuryOf(address agentToken) external view returns (address);
}
