// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title AgentSplit
/// @notice Splits the amount of a use that an agent served: 40 % to the agent's Safe, 10 % back to the requester, and
/// the rest to the agent's treasury.
library AgentSplit {
    uint256 private constant SAFE_PERCENT = 40;
    uint256 private constant BACK_PERCENT = 10;

    /// @dev The Safe's and the requester's shares are rounded down. The treasury gets the remainder, so the shares sum
    /// to `whole`.
    function split(uint256 whole) internal pure returns (uint256 safe, uint256 back, uint256 treasury) {
        safe = whole * SAFE_PERCENT / 100;
        back = whole * BACK_PERCENT / 100;
        treasury = whole - safe - back;
    }
}
