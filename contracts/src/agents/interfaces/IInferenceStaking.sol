// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";

import {IInferencePool} from "../../interfaces/IInferencePool.sol";

/// @title IInferenceStaking
/// @notice What stakers do at the pool: everything beside what {IInferencePool} says, whose units and days hold here too.
/// @dev Owners: a stake belongs to whoever may take it out again, its owner, and serves an identity. They differ where
/// somebody stakes under another's identity ({enterUnder}). A gift ({IInferencePool-enterFor}) belongs to the identity
/// itself, so a gift to a contract that cannot ask for an exit, such as an agent token, stays for ever.
/// Trust: nobody has a role here. The token is fixed; a transfer of it that delivers anything but the exact amount is
/// refused.
/// {IInferencePool-enterFor} reverts with {ZeroAmount}, {ZeroAddress}, {WrongAmountReceived}, or as the token does.
interface IInferenceStaking is IInferencePool {
    /// @notice `amount` was staked; from the next day on `stakeAfter` serves `identity`.
    event Entered(address indexed owner, address indexed identity, uint256 amount, uint256 stakeAfter);

    /// @notice `owner` takes `amount` out; from the next day on `stakeAfter` serves `identity`, and from `readyAt` on `to`
    /// can be paid.
    event ExitRequested(
        uint256 indexed exitId,
        address indexed owner,
        address indexed identity,
        uint256 amount,
        uint256 stakeAfter,
        address to,
        uint256 readyAt
    );

    /// @notice The exit is paid.
    event Exited(uint256 indexed exitId, address indexed to, uint256 amount);

    /// @notice `identity` caps its capacity at `amount` from the next day on; the largest number is no cap.
    event Reserved(address indexed identity, uint256 amount);

    /// @notice The amount is zero.
    error ZeroAmount();

    /// @notice The zero address has no capacity and receives no exit.
    error ZeroAddress();

    /// @notice The staking-derived token must have 18 decimals.
    error UnsupportedDecimals(uint8 decimals);

    /// @notice The token delivered `received` where `expected` were due.
    error WrongAmountReceived(uint256 expected, uint256 received);

    /// @notice The caller owns only `owned` of the stake under this identity.
    error InsufficientStake(uint256 asked, uint256 owned);

    /// @notice There is no such exit, or it is paid.
    error UnknownExit(uint256 exitId);

    /// @notice The exit can be paid from `readyAt` on.
    error ExitNotReady(uint256 exitId, uint256 readyAt);

    /// @notice The token that is staked here.
    function STAKING_TOKEN() external view returns (IERC20Metadata);

    /// @notice How long an exit waits: a day.
    function COOLDOWN() external view returns (uint256);

    /// @notice The stake under `identity` that `owner` may take out.
    function stakeOf(address owner, address identity) external view returns (uint256);

    /// @notice All stake under `identity` now; it serves from the next day on.
    function totalStakeOf(address identity) external view returns (uint256);

    /// @notice What `identity` caps its stake at now; the largest number if there is no cap.
    function reservationOf(address identity) external view returns (uint256);

    /// @notice An exit that is not paid yet.
    function exits(uint256 exitId) external view returns (address to, uint64 readyAt, uint256 amount);

    /// @notice Stakes `amount` of the caller's tokens, which need an allowance, under the caller's own identity.
    /// @dev Reverts with {ZeroAmount}, {WrongAmountReceived}, or as the token does.
    function enter(uint256 amount) external;

    /// @notice As {enter}, under the identity of another: the caller may take it out again, `identity` may not.
    /// @dev Reverts also with {ZeroAddress}.
    function enterUnder(address identity, uint256 amount) external;

    /// @notice Takes `amount` of the caller's stake under `identity` out, for `to`. Each exit has a time of its own, so
    /// nobody can delay another's.
    /// @dev Reverts with {ZeroAmount}, {ZeroAddress}, {InsufficientStake}.
    function requestExit(address identity, uint256 amount, address to) external returns (uint256 exitId);

    /// @notice Pays an exit whose day has passed. Anyone may call it.
    /// @dev Reverts with {UnknownExit}, {ExitNotReady}, or as the token does.
    function exit(uint256 exitId) external;
}
