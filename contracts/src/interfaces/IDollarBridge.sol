// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title IDollarBridge
/// @notice Carries a secondary chain's dollars to the one inbox on the primary chain that is its own.
/// @dev Units: `amount` and `cost` are in token units (1e-6 dollar), whatever the decimals of the chain's dollar.
/// Trust: the outbox hands over `amount + cost` dollars right before {send} and believes that `amount` of them arrive;
/// so an adapter delivers all or reverts, to an inbox fixed at its construction. The timelock chooses the adapter.
interface IDollarBridge {
    /// @notice The bridge would deliver less than was asked for, or take another amount than was quoted.
    error WrongDelivery(uint256 sent, uint256 received);

    /// @notice What it takes so that `amount` arrives: the native fee, and dollars on top of `amount`.
    function quote(uint256 amount) external view returns (uint256 nativeFee, uint256 cost);

    /// @notice Sends the `amount + cost` dollars that lie here; `amount` arrive. Pays the bridge from `msg.value` and has
    /// the rest refunded to `refund`. Returns the transfer's id.
    /// @dev Reverts with {WrongDelivery}, or as the bridge does; then no dollar has moved.
    function send(uint256 amount, uint256 cost, address refund) external payable returns (bytes32 id);
}
