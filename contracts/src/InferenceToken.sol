// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {ERC20Bridgeable} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC20Bridgeable.sol";
import {ERC20Permit, IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";

import {IInferenceToken} from "./interfaces/IInferenceToken.sol";

/// @title InferenceToken
/// @notice The prepaid token. See {IInferenceToken}.
contract InferenceToken is ERC20Permit, ERC20Bridgeable, IInferenceToken {
    /* IMMUTABLES */

    /// @inheritdoc IInferenceToken
    address public immutable MINTER;
    /// @inheritdoc IInferenceToken
    address public immutable BRIDGE;
    /// @inheritdoc IInferenceToken
    address public immutable SETTLEMENT;

    /* CONSTRUCTOR */

    constructor(address minter, address bridge, address settlement)
        ERC20("Inference Token", "INFER")
        ERC20Permit("Inference Token")
    {
        MINTER = minter;
        BRIDGE = bridge;
        SETTLEMENT = settlement;
    }

    /* SUPPLY */

    /// @inheritdoc IInferenceToken
    function mint(address to, uint256 amount) external {
        require(msg.sender == MINTER, OnlyMinter());
        _mint(to, amount);
    }

    /// @inheritdoc IInferenceToken
    function burn(address from, uint256 amount) external {
        require(msg.sender == SETTLEMENT, OnlySettlement());
        _burn(from, amount);
    }

    /* VIEWS */

    /// @inheritdoc IERC20Metadata
    function decimals() public pure override(ERC20, IERC20Metadata) returns (uint8) {
        return 6;
    }

    /// @inheritdoc IERC20Permit
    function nonces(address owner) public view override(ERC20Permit, IERC20Permit) returns (uint256) {
        return super.nonces(owner);
    }

    /// @inheritdoc IERC165
    function supportsInterface(bytes4 interfaceId) public view override(ERC20Bridgeable, IERC165) returns (bool) {
        return super.supportsInterface(interfaceId);
    }

    /* INTERNAL */

    /// @dev The access check of ERC-7802, for both of its functions.
    function _checkTokenBridge(address caller) internal view override {
        require(caller == BRIDGE, OnlyBridge());
    }
}
