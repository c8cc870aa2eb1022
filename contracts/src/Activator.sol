// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {IActivator} from "./interfaces/IActivator.sol";
import {IStablecoin} from "./interfaces/IStablecoin.sol";
import {ITokenBridge} from "./interfaces/ITokenBridge.sol";
import {ITokenMinter} from "./interfaces/ITokenMinter.sol";

/// @title Activator
/// @notice Turns dollars of this contract into credit. See {IActivator}.
abstract contract Activator is IActivator, ReentrancyGuardTransient {
    using SafeERC20 for IStablecoin;

    /// @inheritdoc IActivator
    ITokenMinter public immutable MINTER;
    /// @inheritdoc IActivator
    IStablecoin public immutable STABLECOIN;
    /// @inheritdoc IActivator
    ITokenBridge public immutable ACTIVATION_BRIDGE;
    /// @inheritdoc IActivator
    uint256 public immutable SCALE;

    /// @param stablecoin the stablecoin of `minter`
    /// @param activationBridge `address(0)` on the primary chain
    constructor(ITokenMinter minter, IStablecoin stablecoin, ITokenBridge activationBridge) {
        MINTER = minter;
        STABLECOIN = stablecoin;
        ACTIVATION_BRIDGE = activationBridge;
        SCALE = 10 ** (stablecoin.decimals() - 6);
        // An unlimited allowance is safe: the minter pulls only from its caller, and only the amount to mint.
        stablecoin.forceApprove(address(minter), type(uint256).max);
    }

    /// @dev Turns `amount` of this contract's dollars into credit of `account`.
    function _activate(uint256 amount, address account) internal {
        if (address(ACTIVATION_BRIDGE) == address(0)) {
            require(msg.value == 0, NoMessageFee());
            MINTER.mintAndActivate(amount, account);
        } else {
            MINTER.mint(amount);
            ACTIVATION_BRIDGE.activateOnBase{value: msg.value}(amount, account, msg.sender);
        }
    }

    /// @dev Pulls `value` stablecoin units from `owner` by allowance.
    function _pull(address owner, uint256 value) internal {
        uint256 balanceBefore = STABLECOIN.balanceOf(address(this));
        STABLECOIN.safeTransferFrom(owner, address(this), value);
        _checkReceived(value, balanceBefore);
    }

    /// @dev Without it, a stablecoin that delivers less would spend what others paid in.
    function _checkReceived(uint256 expected, uint256 balanceBefore) internal view {
        uint256 received = STABLECOIN.balanceOf(address(this)) - balanceBefore;
        require(received == expected, WrongAmountReceived(expected, received));
    }
}
