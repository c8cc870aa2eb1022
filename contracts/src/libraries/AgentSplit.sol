// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title AgentSplit
/// @notice Who gets what of a request that an agent served: 40 % its Safe, 10 % the requester, the rest its treasury.
library AgentSplit {
    uint256 private constant SAFE_PERCENT = 40;
    uint256 private constant BACK_PERCENT = 10;

    /// @dev Safe and requester are rounded down and the treasury gets what is left: the parts sum to the whole.
    function split(uint256 whole) internal pure returns (uint256 safe, uint256 back, uint256 treasury) {
        safe = whole * SAFE_PERCENT / 100;
        back = whole * BACK_PERCENT / 100;
        treasury = whole - safe - back;
    }
}
