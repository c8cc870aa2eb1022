// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {InferenceSettlement} from "../../src/InferenceSettlement.sol";
import {IInferenceToken} from "../../src/interfaces/IInferenceToken.sol";
import {ITokenMinter} from "../../src/interfaces/ITokenMinter.sol";

/// @notice A settlement whose days can be made to have paid, so that what is left of them can be tested.
contract PayingSettlement is InferenceSettlement {
    constructor(IInferenceToken token, ITokenMinter minter, address timelock, address guardian, address settler)
        InferenceSettlement(token, minter, timelock, guardian, settler)
    {}

    function pay(uint256 day, uint256 amountNanoUsd) external {
        paidNanoUsd[day] += amountNanoUsd;
    }
}
