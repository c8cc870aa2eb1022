// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IStablecoin} from "./IStablecoin.sol";
import {ITokenBridge} from "./ITokenBridge.sol";
import {ITokenMinter} from "./ITokenMinter.sol";

/// @title IActivator
/// @notice Common to the contracts that turn a payer's dollars into credit in one transaction that somebody else sends.
/// @dev On the primary chain the minter credits at once. On a secondary chain the dollars mint tokens, which the bridge
/// burns and credits on the primary chain: the caller pays LayerZero's fee with the call ({ITokenBridge-quote}), and
/// LayerZero returns what is too much to the caller.
/// Units: amounts are in token units (1e-6 dollar), unless they are called a value, which is in the stablecoin's units.
/// Trust: minter, bridge and stablecoin are fixed. No account has a role here, and nothing is upgradeable.
interface IActivator {
    /// @notice On the primary chain no message is sent, so a call there takes no native coin.
    error NoMessageFee();

    /// @notice The stablecoin delivered `received` units instead of `expected`.
    error WrongAmountReceived(uint256 expected, uint256 received);

    /// @notice The minter of this chain.
    function MINTER() external view returns (ITokenMinter);

    /// @notice The stablecoin of this chain.
    function STABLECOIN() external view returns (IStablecoin);

    /// @notice The bridge that carries activations to the primary chain; `address(0)` on the primary chain.
    function ACTIVATION_BRIDGE() external view returns (ITokenBridge);

    /// @notice Stablecoin units per token unit.
    function SCALE() external view returns (uint256);
}
