// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

import {ITokenMinter} from "../../src/interfaces/ITokenMinter.sol";

/// @notice A plain stablecoin with any decimals and without permits or authorizations.
contract PlainDollar is ERC20("Dollar", "USD") {
    uint8 private immutable DECIMALS;

    constructor(uint8 decimals_) {
        DECIMALS = decimals_;
    }

    function decimals() public view override returns (uint8) {
        return DECIMALS;
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}

/// @notice A stablecoin that keeps one unit of every transfer as a fee.
contract FeeDollar is PlainDollar(6) {
    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, value);
        if (from != address(0) && to != address(0)) super._update(to, address(0), 1);
    }
}

/// @notice A stablecoin that returns false and moves nothing.
contract FalseDollar is PlainDollar(6) {
    function transferFrom(address, address, uint256) public pure override returns (bool) {
        return false;
    }
}

/// @notice A stablecoin that reenters the minter on every transfer.
contract ReentrantDollar is PlainDollar(6) {
    bytes public reentry;

    function setReentry(bytes calldata reentry_) external {
        reentry = reentry_;
    }

    function transferFrom(address from, address to, uint256 value) public override returns (bool) {
        (bool ok, bytes memory reason) = to.call(reentry);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(reason, 0x20), mload(reason))
            }
        }
        return super.transferFrom(from, to, value);
    }
}
