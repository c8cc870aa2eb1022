// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";

import {IInferencePool} from "../../interfaces/IInferencePool.sol";

/// @title IInferenceStaking
/// @notice The staking functions of the pool, beyond those of {IInferencePool}, whose units and days apply here too.
/// @dev Owners: a stake has an owner, who can withdraw it, and an identity, which it serves. They differ if the owner
/// stakes under the identity of another ({enterUnder}). A gift ({IInferencePool-enterFor}) is owned by the identity
/// itself. A gift to a contract that cannot request an exit, such as an agent token, is therefore locked permanently.
/// Trust: no account has a privileged role. The token is fixed, and a transfer that delivers anything but the exact
/// amount reverts.
/// {IInferencePool-enterFor} reverts with {ZeroAmount}, {ZeroAddress} or {WrongAmountReceived}, or with an error of the
/// token.
interface IInferenceStaking is IInferencePool {
    /// @notice `amount` was staked; `stakeAfter` serves `identity` from the next day on.
    event Entered(address indexed owner, address indexed identity, uint256 amount, uint256 stakeAfter);

    /// @notice `owner` requested the withdrawal of `amount`. `stakeAfter` serves `identity` from the next day on, and
    /// the exit can be paid to `to` from `readyAt` on.
    event ExitRequested(
        uint256 indexed exitId,
        address indexed owner,
        address indexed identity,
        uint256 amount,
        uint256 stakeAfter,
        address to,
        uint256 readyAt
    );

    /// @notice The exit was paid.
    event Exited(uint256 indexed exitId, address indexed to, uint256 amount);

    /// @notice `identity` capped its capacity at `amount` from the next day on; the maximum value means no cap.
    event Reserved(address indexed identity, uint256 amount);

    /// @notice The amount is zero.
    error ZeroAmount();

    /// @notice The zero address cannot have capacity or receive an exit.
    error ZeroAddress();

    /// @notice The staking-derived token must have 18 decimals.
    error UnsupportedDecimals(uint8 decimals);

    /// @notice The token delivered `received` instead of `expected`.
    error WrongAmountReceived(uint256 expected, uint256 received);

    /// @notice The caller owns only `owned` of the stake under this identity.
    error InsufficientStake(uint256 asked, uint256 owned);

    /// @notice The exit does not exist, or was already paid.
    error UnknownExit(uint256 exitId);

    /// @notice The exit cannot be paid before `readyAt`.
    error ExitNotReady(uint256 exitId, uint256 readyAt);

    /// @notice The token that is staked in the pool.
    function STAKING_TOKEN() external view returns (IERC20Metadata);

    /// @notice The cooldown between the request and the payment of an exit: one day.
    function COOLDOWN() external view returns (uint256);

    /// @notice The stake under `identity` that `owner` can withdraw.
    function stakeOf(address owner, address identity) external view returns (uint256);

    /// @notice The total stake under `identity`, including changes that take effect the next day.
    function totalStakeOf(address identity) external view returns (uint256);

    /// @notice The cap on the stake of `identity`, including a change that takes effect the next day; the maximum value
    /// if there is no cap.
    function reservationOf(address identity) external view returns (uint256);

    /// @notice An exit that was requested and is not paid yet.
    function exits(uint256 exitId) external view returns (address to, uint64 readyAt, uint256 amount);

    /// @notice Stakes `amount` of the caller's tokens, which need an allowance, under the caller's own identity.
    /// @dev Reverts with {ZeroAmount} or {WrongAmountReceived}, or with an error of the token.
    function enter(uint256 amount) external;

    /// @notice Same as {enter}, under the identity of another: the caller can withdraw the stake, `identity` cannot.
    /// @dev Also reverts with {ZeroAddress}.
    function enterUnder(address identity, uint256 amount) external;

    /// @notice Requests the withdrawal of `amount` of the caller's stake under `identity` to `to`. Each exit has its
    /// own cooldown, so no one can delay the exit of another.
    /// @dev Reverts with {ZeroAmount}, {ZeroAddress} or {InsufficientStake}.
    function requestExit(address identity, uint256 amount, address to) external returns (uint256 exitId);

    /// @notice Pays an exit whose cooldown has ended. Anyone may call it.
    /// @dev Reverts with {UnknownExit} or {ExitNotReady}, or with an error of the token.
    function exit(uint256 exitId) external;
}
