// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title IDollarBridge
/// @notice The adapter of an outbox: sends a secondary chain's dollars over a dollar bridge to the inbox of that chain
/// on the primary chain.
/// @dev Units: `amount` and `cost` are in token units (1e-6 dollar), whatever the decimals of the stablecoin.
/// Trust: the outbox transfers `amount + cost` dollars to the adapter immediately before {send} and assumes that
/// `amount` of them arrive. An adapter must therefore deliver the full amount or revert, and its inbox is fixed at
/// construction. The timelock chooses the adapter.
interface IDollarBridge {
    /// @notice The bridge would deliver less than requested, or take an amount other than quoted.
    error WrongDelivery(uint256 sent, uint256 received);

    /// @notice The amount that the bridge can deliver now, at most `wanted`, and its price: the native fee, and the cost
    /// in dollars in addition to `amount`. The amount is zero if the bridge can carry nothing.
    function quote(uint256 wanted) external view returns (uint256 amount, uint256 nativeFee, uint256 cost);

    /// @notice Sends the `amount + cost` dollars held by the adapter, so that `amount` arrives. Pays the bridge from
    /// `msg.value`; any excess is refunded to `refund`. Returns the id of the transfer.
    /// @dev Reverts with {WrongDelivery} or with an error of the bridge. No dollars move if it reverts.
    function send(uint256 amount, uint256 cost, address refund) external payable returns (bytes32 id);
}
