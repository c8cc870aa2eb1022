// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title IInferencePool
/// @notice Holds stake in the staking-derived token. Each staked unit gives one identity one dollar of inference a day.
/// Primary chain only.
/// @dev Units: capacity is in nano-dollars, like every amount that is compared with what the gateway charges. `amount`
/// is in units of the staking-derived token (18 decimals); 1e18 units give one dollar a day.
/// Days are UTC, numbered by `timestamp / 1 days`. The capacity of a day is fixed at its 00:00 UTC and never changes
/// afterwards. A stake, a reservation or an exit takes effect on the next day, so a unit serves one identity a day.
/// Trust: the settlement limits what an agent serves on a day to {capacityOn} of that day, whenever it reads it.
interface IInferencePool {
    /// @notice The capacity of `identity` (a wallet or an agent token) on `day`, in nano-dollars: the smaller of its
    /// stake and its reservation at 00:00 UTC of that day.
    /// @dev For a future day, returns the capacity if nothing changes until then. Never reverts.
    function capacityOn(address identity, uint256 day) external view returns (uint256 nanoUsd);

    /// @notice {capacityOn} for today.
    function capacityToday(address identity) external view returns (uint256 nanoUsd);

    /// @notice Stakes `amount` of the caller's units under `identity` as a gift: the caller cannot withdraw it.
    function enterFor(address identity, uint256 amount) external;

    /// @notice Caps the caller's capacity at `amount` units, effective the next day. An identity that never calls it
    /// has no cap.
    function reserve(uint256 amount) external;
}
