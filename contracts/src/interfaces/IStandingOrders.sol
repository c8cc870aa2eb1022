// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IActivator} from "./IActivator.sol";

/// @title IStandingOrders
/// @notice Lets an owner of dollars name a puller, who may turn at most so many of them a UTC day into the owner's
/// credit.
/// @dev The owner gives this contract an allowance of the stablecoin. The puller judges when a pull is due; the
/// contract guards amount, day, expiry and recipient. A pull takes no fee. The worst that a stolen puller key can do is
/// to activate the owner's own dollars, for the owner, up to the maximum of each day, until the owner ends the order.
interface IStandingOrders is IActivator {
    /// @notice The order of an owner. `pulled` was pulled on `day` (UTC, `timestamp / 1 days`), under this order or an
    /// earlier one of the same owner.
    struct Order {
        address puller;
        uint64 expiresAt;
        uint32 day;
        uint128 maxPerDay;
        uint128 pulled;
    }

    /// @notice The owner's new order. A puller of zero ends the order.
    event OrderSet(address indexed owner, address indexed puller, uint256 maxPerDay, uint256 expiresAt);

    /// @notice `amount` of the owner's dollars became the owner's credit; `pulledToday` is the day's sum.
    event Pulled(address indexed owner, uint256 amount, uint256 pulledToday);

    /// @notice The caller is not the puller of the owner's order.
    error OnlyPuller();

    /// @notice The order or the signature has expired.
    error Expired(uint256 expiresAt);

    /// @notice Only `left` may be pulled today.
    error AboveDayMaximum(uint256 asked, uint256 left);

    /// @notice The signature is not the owner's for these terms and the next nonce.
    error InvalidSignature();

    /// @notice The order of `owner`.
    function orderOf(address owner) external view returns (Order memory);

    /// @notice What may still be pulled from `owner` today. The allowance and balance of the stablecoin limit it too.
    function leftToday(address owner) external view returns (uint256);

    /// @notice Sets the caller's order, in place of an earlier one. Today's pulls count for the new order too.
    /// A signature that was not used is void afterwards.
    function set(address puller, uint128 maxPerDay, uint64 expiresAt) external;

    /// @notice Same as {set}, for the signer `owner`. Anyone may call it.
    /// @param deadline the signature is valid before this Unix time
    /// @param signature of EIP-712 data with the domain (StandingOrders, 1, this chain, this contract):
    /// `Order(address owner,address puller,uint128 maxPerDay,uint64 expiresAt,uint256 nonce,uint256 deadline)`,
    /// where the nonce is `nonces(owner)`
    /// @dev Reverts with {Expired} or {InvalidSignature}.
    function setWithSignature(
        address owner,
        address puller,
        uint128 maxPerDay,
        uint64 expiresAt,
        uint256 deadline,
        bytes calldata signature
    ) external;

    /// @notice Ends the caller's order at once. A signature that was not used is void afterwards.
    function end() external;

    /// @notice Turns `amount` of the owner's dollars into the owner's credit.
    /// @dev Reverts with {OnlyPuller}, {Expired}, {AboveDayMaximum}, {WrongAmountReceived} or {NoMessageFee}, or with
    /// an error of stablecoin, minter or bridge.
    function pull(address owner, uint256 amount) external payable;
}
