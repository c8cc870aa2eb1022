// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title LocalToken
/// @notice Stands for a token that others issue: the first secondary chain's dollar, the staking-derived token. 18
/// decimals, with permits and without authorizations.
contract LocalToken is ERC20Permit {
    /// @notice Who makes tokens of nothing, as only a local chain allows.
    address public immutable ISSUER;

    /// @notice The caller is not the issuer.
    error OnlyIssuer();

    constructor(string memory name, string memory symbol, address issuer) ERC20(name, symbol) ERC20Permit(name) {
        ISSUER = issuer;
    }

    /// @notice Makes `amount` units, 1e-18 token each, for `to`.
    function mint(address to, uint256 amount) external {
        require(msg.sender == ISSUER, OnlyIssuer());
        _mint(to, amount);
    }
}
