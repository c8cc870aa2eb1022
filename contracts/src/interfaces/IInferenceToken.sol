// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {IERC7802} from "@openzeppelin/contracts/interfaces/draft-IERC7802.sol";

/// @title IInferenceToken
/// @notice The prepaid token: one token is one dollar of inference. ERC-20 with 6 decimals, EIP-2612 permits, and
/// ERC-7802 for its bridge.
/// @dev Units: every amount is in token units (1e-6 token).
/// @dev Trust: the token has no owner. No one can pause it, block a holder or change who may mint. Supply is minted by
/// the minter (against dollars) and by the bridge (against tokens burned on another chain). It is burned by the
/// settlement (against credit) and by the bridge. There is no public burn, because a burn without credit would lose a
/// dollar.
/// A role whose contract does not exist on this chain is `address(0)`, so no caller can have that role.
interface IInferenceToken is IERC20Metadata, IERC20Permit, IERC7802 {
    /// @notice The caller is not the minter.
    error OnlyMinter();

    /// @notice The caller is not the bridge.
    error OnlyBridge();

    /// @notice The caller is not the settlement.
    error OnlySettlement();

    /// @notice The contract that mints against dollars.
    function MINTER() external view returns (address);

    /// @notice The contract that moves tokens between chains; `address(0)` if this chain has none.
    function BRIDGE() external view returns (address);

    /// @notice The contract that turns tokens into credit; `address(0)` off the primary chain.
    function SETTLEMENT() external view returns (address);

    /// @notice Mints `amount` tokens to `to`. Trust: the minter has received the same amount of dollars before.
    /// @dev Reverts with {OnlyMinter}, or with `ERC20InvalidReceiver` if `to` is the zero address.
    function mint(address to, uint256 amount) external;

    /// @notice Burns `amount` tokens of `from` without an allowance.
    /// @dev Trust: the settlement burns only tokens of its own caller. Reverts with {OnlySettlement} or
    /// `ERC20InsufficientBalance`.
    function burn(address from, uint256 amount) external;
}
