// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IDollarBridge} from "./IDollarBridge.sol";
import {IStablecoin} from "./IStablecoin.sol";

/// @title ITokenBackingOutbox
/// @notice Holds the dollars of a secondary chain until they are sent to the primary chain in batches.
/// @dev Units: amounts are in token units (1e-6 dollar).
/// @dev Trust: dollars leave only through {flush} and only to the adapter, which the timelock chooses. The bridging
/// cost of a batch is never deducted from the batch. It is paid from the cost reserve: the dollars held here that are
/// not pending. Anyone can add to the reserve with a plain transfer. If the bridge fails, becomes expensive or loses
/// amounts, dollars wait here and nothing else is affected.
interface ITokenBackingOutbox {
    /// @notice A batch of `amount` was sent at a `cost` in addition; `id` is the adapter's id of the transfer.
    /// @param flushedAfter the sum of all batches, including this one
    /// @param pendingAfter the amount that is still pending
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

    /// @notice The wait after the last batch is not over.
    error TooSoon(uint256 readyAt);

    /// @notice `batch` is below {MIN_BATCH} and not old enough: it can be sent from `readyAt` on, or when it reaches
    /// {MIN_BATCH}. `batch` is zero if nothing is pending or the bridge can carry nothing now; it can then not be sent
    /// at any age.
    error BatchTooSmall(uint256 batch, uint256 readyAt);

    /// @notice The bridge charges more than {MAX_COST_BPS} of the batch.
    error CostTooHigh(uint256 cost, uint256 limit);

    /// @notice The cost reserve is too small to pay the bridge. Send dollars to this contract to fill it.
    error CostReserveShort(uint256 cost, uint256 reserve);

    /// @notice The minter whose dollars are held here.
    function MINTER() external view returns (address);

    /// @notice The stablecoin of this chain.
    function STABLECOIN() external view returns (IStablecoin);

    /// @notice The timelock, which chooses the adapter after its delay.
    function TIMELOCK() external view returns (address);

    /// @notice Stablecoin units per token unit.
    function SCALE() external view returns (uint256);

    /// @notice The smallest batch that can be sent at any age: 10 dollars.
    function MIN_BATCH() external view returns (uint256);

    /// @notice The largest batch: 10,000 dollars.
    function MAX_BATCH() external view returns (uint256);

    /// @notice Seconds after which a batch smaller than {MIN_BATCH} can be sent: 24 hours.
    function MAX_AGE() external view returns (uint256);

    /// @notice The wait after a batch of all that could be sent: 1 hour. After a smaller batch it is shorter in
    /// proportion, so that at most {MAX_BATCH} leaves in an hour.
    function MIN_INTERVAL() external view returns (uint256);

    /// @notice The maximum cost of a batch, in basis points: 30.
    function MAX_COST_BPS() external view returns (uint256);

    /// @notice The current adapter, which sends the dollars over the dollar bridge.
    function adapter() external view returns (IDollarBridge);

    /// @notice The pending dollars: received from the minter and not sent yet.
    function pending() external view returns (uint256);

    /// @notice The time since when dollars have been pending; meaningless if none are pending.
    function pendingSince() external view returns (uint256);

    /// @notice The time from which on the next batch can be sent; 0 if there was none before.
    function nextFlushAt() external view returns (uint256);

    /// @notice The sum of all dollars sent. Subtract what the primary chain has booked to get the dollars in flight.
    function flushed() external view returns (uint256);

    /// @notice The dollars held here that are not pending. They pay for bridging.
    function costReserve() external view returns (uint256);

    /// @notice The batch that {flush} would send now if it is due, at most `most` and at most the bridge's limit; the
    /// native fee to attach; and the cost in dollars.
    function quoteFlush(uint256 most) external view returns (uint256 amount, uint256 nativeFee, uint256 cost);

    /// @notice Books `amount` dollars that the minter has just transferred here.
    /// @dev Trust: called by the minter only, after the balance of the outbox grew by exactly `amount`. Must not revert
    /// for the minter, because that would stop par mints on this chain. Reverts with {OnlyMinter}.
    function onMint(uint256 amount) external;

    /// @notice Sends the next batch. Anyone may call it. The caller pays the native fee and is refunded any excess.
    /// @param most the largest batch to send, for a bridge that refuses more and does not say so beforehand. Less than
    /// {MIN_BATCH} means {MIN_BATCH}.
    /// @dev Reverts with {TooSoon}, {BatchTooSmall}, {CostTooHigh} or {CostReserveShort}, or with an error of the
    /// adapter or of the bridge.
    function flush(uint256 most) external payable returns (bytes32 id);

    /// @notice Sets the adapter.
    /// @dev Reverts with {OnlyTimelock}.
    function setAdapter(IDollarBridge newAdapter) external;
}
