// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PlainDollar} from "../../helpers/Dollars.sol";

/// @notice A token that keeps one unit of every transfer as a fee, once enabled.
contract FeeToken is PlainDollar(18) {
    bool public takesFee;

    function takeFees() external {
        takesFee = true;
    }

    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, value);
        if (takesFee && from != address(0) && to != address(0)) super._update(to, address(0), 1);
    }
}

/// @notice A token whose transfers return false and move nothing; transfers by allowance work.
contract FalseToken is PlainDollar(18) {
    function transfer(address, uint256) public pure override returns (bool) {
        return false;
    }
}

/// @notice A token that calls its target, once, when it is transferred by allowance.
contract ReentrantToken is PlainDollar(18) {
    address public target;
    bytes public reentry;

    function setReentry(address target_, bytes calldata reentry_) external {
        (target, reentry) = (target_, reentry_);
    }

    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, value);
        address called = target;
        if (called == address(0)) return;
        target = address(0);
        (bool ok, bytes memory reason) = called.call(reentry);
        if (ok) return;
        assembly ("memory-safe") {
            revert(add(reason, 0x20), mload(reason))
        }
    }
}
