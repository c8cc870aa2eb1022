// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {InferenceSettlement} from "../../src/InferenceSettlement.sol";

/// @notice A settlement whose days can be made to have paid, so that what is left of them can be tested.
contract PayingSettlement is InferenceSettlement {
    constructor(Wiring memory wiring) InferenceSettlement(wiring) {}

    function pay(uint256 day, uint256 amountNanoUsd) external {
        paidNanoUsd[day] += amountNanoUsd;
    }
}
