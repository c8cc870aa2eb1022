// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title ITokenBackingOutbox
/// @notice Where the dollars of a secondary chain wait until they are carried to the primary chain.
interface ITokenBackingOutbox {
    /// @notice Books `amount` dollars, in token units, that the minter has just sent here.
    /// @dev Trust: called by the minter only, after the outbox's real balance grew by exactly these dollars. Must not
    /// revert for the minter, or the par door of the chain is closed.
    function onMint(uint256 amount) external;
}
