// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IDollarBridge} from "./IDollarBridge.sol";
import {IStablecoin} from "./IStablecoin.sol";

/// @title ITokenBackingOutbox
/// @notice Where the dollars of a secondary chain wait until they are carried to the primary chain, in batches.
/// @dev Units: amounts are in token units (1e-6 dollar).
/// Trust: dollars leave only through {flush} and only to the adapter, which the timelock chooses. What a batch costs on
/// its way is never taken from it but from the cost reserve: the dollars here that are not pending, which anyone fills by
/// sending dollars here. A dead, dear or lossy bridge makes the dollars wait and stops nothing else.
interface ITokenBackingOutbox {
    /// @notice A batch of `amount` left, at a `cost` beside it; `id` is the adapter's for the transfer.
    /// @param flushedAfter all that has ever left, this batch included
    /// @param pendingAfter what is still here
    event Flushed(
        bytes32 indexed id,
        address indexed caller,
        uint256 amount,
        uint256 cost,
        uint256 flushedAfter,
        uint256 pendingAfter
    );

    /// @notice The adapter changed.
    event AdapterChanged(IDollarBridge indexed previous, IDollarBridge indexed current);

    /// @notice The caller is not the minter.
    error OnlyMinter();

    /// @notice The caller is not the timelock.
    error OnlyTimelock();

    /// @notice The last batch left less than {MIN_INTERVAL} ago.
    error TooSoon(uint256 readyAt);

    /// @notice Too little is pending, and not long enough: it can leave from `readyAt`, or as {MIN_BATCH}.
    error BatchTooSmall(uint256 pending, uint256 readyAt);

    /// @notice The bridge asks more than {MAX_COST_BPS} of the batch.
    error CostTooHigh(uint256 cost, uint256 limit);

    /// @notice The cost reserve cannot pay the bridge: send dollars here.
    error CostReserveShort(uint256 cost, uint256 reserve);

    /// @notice The contract whose dollars wait here.
    function MINTER() external view returns (address);

    /// @notice The chain's dollar.
    function STABLECOIN() external view returns (IStablecoin);

    /// @notice Who chooses the adapter, after its delay.
    function TIMELOCK() external view returns (address);

    /// @notice Stablecoin units in one token unit.
    function SCALE() external view returns (uint256);

    /// @notice What a batch needs to leave at once: 10 dollars.
    function MIN_BATCH() external view returns (uint256);

    /// @notice What leaves at most in one batch: 10,000 dollars.
    function MAX_BATCH() external view returns (uint256);

    /// @notice After how many seconds a smaller batch may leave too: 24 hours.
    function MAX_AGE() external view returns (uint256);

    /// @notice How many seconds lie at least between two batches: 1 hour.
    function MIN_INTERVAL() external view returns (uint256);

    /// @notice What a batch may cost at most, in hundredths of a percent: 30.
    function MAX_COST_BPS() external view returns (uint256);

    /// @notice The bridge of today.
    function adapter() external view returns (IDollarBridge);

    /// @notice The dollars that wait here.
    function pending() external view returns (uint256);

    /// @notice Since when some of them wait; meaningless while none do.
    function pendingSince() external view returns (uint256);

    /// @notice When the last batch left; 0 if none did.
    function lastFlushAt() external view returns (uint256);

    /// @notice All dollars that ever left. Less what the primary chain has booked, these are in flight.
    function flushed() external view returns (uint256);

    /// @notice The dollars here that are not pending, which pay for bridging.
    function costReserve() external view returns (uint256);

    /// @notice The batch that would leave now, if its time has come, the native fee to send along, and its cost.
    function quoteFlush() external view returns (uint256 amount, uint256 nativeFee, uint256 cost);

    /// @notice Books `amount` dollars that the minter has just sent here.
    /// @dev Trust: called by the minter only, after the outbox's real balance grew by exactly these dollars. Does not
    /// revert for the minter, or the par door of the chain would be closed. Reverts with {OnlyMinter}.
    function onMint(uint256 amount) external;

    /// @notice Sends the next batch. Anyone may; the caller pays the native fee, and gets back what is over.
    /// @dev Reverts with {TooSoon}, {BatchTooSmall}, {CostTooHigh}, {CostReserveShort}, or as adapter and bridge do.
    function flush() external payable returns (bytes32 id);

    /// @notice Chooses the adapter.
    /// @dev Reverts with {OnlyTimelock}.
    function setAdapter(IDollarBridge newAdapter) external;
}
