// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title IInferencePool
/// @notice Staked units of the staking-derived token, each one dollar of inference a day for one identity. Primary chain.
/// @dev Units: capacity is in nano-dollars, as everything that is compared with what the gateway charges; `amount` is in
/// the units of the staking-derived token (18 decimals), of which 1e18 are one dollar a day.
/// Days are UTC, numbered by `timestamp / 1 days`. A day's capacity is fixed at its 00:00 UTC and never changes again:
/// whatever is entered, reserved or taken out counts from the next day, so that a unit serves one identity a day.
/// Trust: the settlement lets an agent serve on a day at most what {capacityOn} says of that day, whenever it asks.
interface IInferencePool {
    /// @notice What `identity` (a wallet or an agent token) could use on `day`, in nano-dollars: the smaller of its stake
    /// and its reservation at 00:00 UTC of that day.
    /// @dev For a day that has not begun, what it would be if nothing changed. Does not revert for any identity or day.
    function capacityOn(address identity, uint256 day) external view returns (uint256 nanoUsd);

    /// @notice {capacityOn} of today.
    function capacityToday(address identity) external view returns (uint256 nanoUsd);

    /// @notice Stakes `amount` of the caller's units under `identity`, as a gift: the caller keeps no claim.
    function enterFor(address identity, uint256 amount) external;

    /// @notice Caps the caller's capacity at `amount` units from the next day on. Never called means uncapped.
    function reserve(uint256 amount) external;
}
