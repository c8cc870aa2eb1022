// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title IAgentRegistry
/// @notice Lists the agent tokens created on this chain and the payees of each.
/// @dev Trust: the settlement reads an agent's payees at the time of payment, so a replaced Safe also receives what was
/// owed before.
interface IAgentRegistry {
    /// @notice Whether this registry created `agentToken`, which proves that the agent was created on this chain.
    function isAgent(address agentToken) external view returns (bool);

    /// @notice The agent's Safe; `address(0)` for an unknown agent.
    function safeOf(address agentToken) external view returns (address);

    /// @notice The agent's permanently locked treasury; `address(0)` for an unknown agent or off the primary chain.
    function treasuryOf(address agentToken) external view returns (address);
}
