// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITokenBackingOutbox} from "../../src/interfaces/ITokenBackingOutbox.sol";

/// @notice The minter's side of an outbox: it only counts.
contract RecordingOutbox is ITokenBackingOutbox {
    uint256 public pending;

    function onMint(uint256 amount) external {
        pending += amount;
    }
}
