// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {IStablecoin} from "./interfaces/IStablecoin.sol";

/// @title BackingInbox
/// @notice Receives the dollars that one secondary chain sends to the primary chain. Each secondary chain has its own
/// inbox, so its dollars are booked to its own line only.
/// @dev The contract has no functions. The constructor approves the minter for every dollar it will hold
/// ({ITokenMinter.book}), and nothing else can move them.
contract BackingInbox {
    constructor(IStablecoin stablecoin, address minter) {
        SafeERC20.forceApprove(stablecoin, minter, type(uint256).max);
    }
}
