// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {StdUtils} from "forge-std/StdUtils.sol";

/// @notice forge-std's tools without a printed line for each number, among which nobody would find what the invariants
/// print.
abstract contract QuietUtils is StdUtils {
    function bound(uint256 x, uint256 min, uint256 max) internal pure override returns (uint256) {
        return _bound(x, min, max);
    }
}
