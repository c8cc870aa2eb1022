// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {InferenceSettlement} from "../../src/InferenceSettlement.sol";

/// @notice A settlement that lets a test set what was debited on a day, to test what remains under the ceiling.
contract PayingSettlement is InferenceSettlement {
    constructor(Wiring memory wiring) InferenceSettlement(wiring) {}

    function pay(uint256 day, uint256 amountNanoUsd) external {
        paidNanoUsd[day] += amountNanoUsd;
    }
}
