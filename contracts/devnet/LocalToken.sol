// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title LocalToken
/// @notice A stand-in, on local chains, for a token of a third party: the stablecoin of the first secondary chain, and
/// the staking-derived token. 18 decimals, EIP-2612 permits, no ERC-3009 authorizations.
contract LocalToken is ERC20Permit {
    /// @notice The account that may mint without backing. For local chains only.
    address public immutable ISSUER;

    /// @notice The caller is not the issuer.
    error OnlyIssuer();

    constructor(string memory name, string memory symbol, address issuer) ERC20(name, symbol) ERC20Permit(name) {
        ISSUER = issuer;
    }

    /// @notice Mints `amount` units (1e-18 token each) to `to`.
    function mint(address to, uint256 amount) external {
        require(msg.sender == ISSUER, OnlyIssuer());
        _mint(to, amount);
    }
}
