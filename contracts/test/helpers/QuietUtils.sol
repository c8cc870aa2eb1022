// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {StdUtils} from "forge-std/StdUtils.sol";

/// @notice forge-std's StdUtils without its log line for each bounded number, so that the output of the invariant runs
/// stays readable.
abstract contract QuietUtils is StdUtils {
    function bound(uint256 x, uint256 min, uint256 max) internal pure override returns (uint256) {
        return _bound(x, min, max);
    }
}
