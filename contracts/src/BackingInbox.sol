// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {IStablecoin} from "./interfaces/IStablecoin.sol";

/// @title BackingInbox
/// @notice Where the dollars of one secondary chain arrive on the primary chain, apart from those of any other, so that
/// they count for their own chain only.
/// @dev It has no function: it lets the minter take its dollars ({ITokenMinter.book}) and can do nothing else.
contract BackingInbox {
    constructor(IStablecoin stablecoin, address minter) {
        SafeERC20.forceApprove(stablecoin, minter, type(uint256).max);
    }
}
