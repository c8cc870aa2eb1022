// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {IDollarBridge} from "./interfaces/IDollarBridge.sol";
import {IStablecoin} from "./interfaces/IStablecoin.sol";
import {ITokenBackingOutbox} from "./interfaces/ITokenBackingOutbox.sol";

/// @title TokenBackingOutbox
/// @notice Holds the dollars of a secondary chain until they are sent to the primary chain. See {ITokenBackingOutbox}.
contract TokenBackingOutbox is ITokenBackingOutbox, ReentrancyGuardTransient {
    using SafeCast for uint256;
    using SafeERC20 for IStablecoin;

    /* CONSTANTS */

    /// @inheritdoc ITokenBackingOutbox
    uint256 public constant MIN_BATCH = 10e6;
    /// @inheritdoc ITokenBackingOutbox
    uint256 public constant MAX_BATCH = 10_000e6;
    /// @inheritdoc ITokenBackingOutbox
    uint256 public constant MAX_AGE = 24 hours;
    /// @inheritdoc ITokenBackingOutbox
    uint256 public constant MIN_INTERVAL = 1 hours;
    /// @inheritdoc ITokenBackingOutbox
    uint256 public constant MAX_COST_BPS = 30;

    /* IMMUTABLES */

    /// @inheritdoc ITokenBackingOutbox
    address public immutable MINTER;
    /// @inheritdoc ITokenBackingOutbox
    IStablecoin public immutable STABLECOIN;
    /// @inheritdoc ITokenBackingOutbox
    address public immutable TIMELOCK;
    /// @inheritdoc ITokenBackingOutbox
    uint256 public immutable SCALE;

    /* STORAGE */

    /// @inheritdoc ITokenBackingOutbox
    IDollarBridge public adapter;

    /// @dev Packed in one slot, because a flush writes all of them and a mint writes most.
    uint88 internal _pending;
    uint88 internal _flushed;
    uint40 internal _pendingSince;
    uint40 internal _nextFlushAt;

    /* CONSTRUCTOR */

    constructor(address minter, IStablecoin stablecoin, address timelock, IDollarBridge firstAdapter) {
        MINTER = minter;
        STABLECOIN = stablecoin;
        TIMELOCK = timelock;
        SCALE = 10 ** (stablecoin.decimals() - 6);
        adapter = firstAdapter;
        emit AdapterChanged(IDollarBridge(address(0)), firstAdapter);
    }

    /* RECEIVE */

    /// @inheritdoc ITokenBackingOutbox
    function onMint(uint256 amount) external {
        require(msg.sender == MINTER, OnlyMinter());
        uint88 before = _pending;
        if (before == 0) _pendingSince = uint40(block.timestamp);
        _pending = (before + amount).toUint88();
    }

    /* FLUSH AND ADAPTER */

    /// @inheritdoc ITokenBackingOutbox
    function flush(uint256 most) external payable nonReentrant returns (bytes32 id) {
        (uint256 amount,, uint256 cost) = quoteFlush(most);
        _checkDue(amount);
        _checkCost(amount, cost);

        (uint256 flushedAfter, uint256 pendingAfter) = (_flushed + amount, _pending - amount);
        // A smaller batch shortens the wait in proportion, so that a caller who asks for little delays nothing.
        uint256 wait = Math.ceilDiv(MIN_INTERVAL * amount, Math.min(_pending, MAX_BATCH));
        (_flushed, _pending) = (flushedAfter.toUint88(), pendingAfter.toUint88());
        _nextFlushAt = (block.timestamp + wait).toUint40();
        STABLECOIN.safeTransfer(address(adapter), (amount + cost) * SCALE);
        id = adapter.send{value: msg.value}(amount, cost, msg.sender);
        emit Flushed(id, msg.sender, amount, cost, flushedAfter, pendingAfter);
    }

    /// @inheritdoc ITokenBackingOutbox
    function setAdapter(IDollarBridge newAdapter) external {
        require(msg.sender == TIMELOCK, OnlyTimelock());
        emit AdapterChanged(adapter, newAdapter);
        adapter = newAdapter;
    }

    /* VIEWS */

    /// @inheritdoc ITokenBackingOutbox
    function quoteFlush(uint256 most) public view returns (uint256 amount, uint256 nativeFee, uint256 cost) {
        return adapter.quote(Math.min(Math.min(_pending, MAX_BATCH), Math.max(most, MIN_BATCH)));
    }

    /// @inheritdoc ITokenBackingOutbox
    function costReserve() public view returns (uint256) {
        return Math.saturatingSub(STABLECOIN.balanceOf(address(this)) / SCALE, _pending);
    }

    /// @inheritdoc ITokenBackingOutbox
    function pending() external view returns (uint256) {
        return _pending;
    }

    /// @inheritdoc ITokenBackingOutbox
    function pendingSince() external view returns (uint256) {
        return _pendingSince;
    }

    /// @inheritdoc ITokenBackingOutbox
    function nextFlushAt() external view returns (uint256) {
        return _nextFlushAt;
    }

    /// @inheritdoc ITokenBackingOutbox
    function flushed() external view returns (uint256) {
        return _flushed;
    }

    /* INTERNAL */

    /// @dev A flush is due if the batch is large enough or old enough, and the wait after the last one is over. The
    /// minimum batch prevents dust from consuming bridging fees.
    function _checkDue(uint256 amount) internal view {
        require(block.timestamp >= _nextFlushAt, TooSoon(_nextFlushAt));
        uint256 agedAt = _pendingSince + MAX_AGE;
        bool isOld = amount != 0 && block.timestamp >= agedAt;
        require(amount >= MIN_BATCH || isOld, BatchTooSmall(amount, agedAt));
    }

    function _checkCost(uint256 amount, uint256 cost) internal view {
        uint256 limit = amount * MAX_COST_BPS / 10_000;
        require(cost <= limit, CostTooHigh(cost, limit));
        uint256 reserve = costReserve();
        require(cost <= reserve, CostReserveShort(cost, reserve));
    }
}
