// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";

import {IInferencePool} from "../interfaces/IInferencePool.sol";
import {IInferenceStaking} from "./interfaces/IInferenceStaking.sol";

/// @title InferencePool
/// @notice Holds stake; each unit gives one dollar of inference a day. See {IInferencePool} and {IInferenceStaking}.
contract InferencePool is IInferenceStaking {
    using Checkpoints for Checkpoints.Trace208;
    using SafeCast for uint256;
    using SafeERC20 for IERC20Metadata;

    struct Exit {
        address to;
        uint64 readyAt;
        uint256 amount;
    }

    /* CONSTANTS */

    /// @inheritdoc IInferenceStaking
    uint256 public constant COOLDOWN = 1 days;

    /// @dev Stake has 18 decimals per dollar, nano-dollars have 9.
    uint256 internal constant STAKE_UNITS_PER_NANO_USD = 1e9;

    /* IMMUTABLES */

    /// @inheritdoc IInferenceStaking
    IERC20Metadata public immutable STAKING_TOKEN;

    /* STORAGE */

    /// @inheritdoc IInferenceStaking
    mapping(address owner => mapping(address identity => uint256)) public stakeOf;
    /// @inheritdoc IInferenceStaking
    mapping(uint256 exitId => Exit) public exits;

    uint256 internal _exitCount;

    /// @dev Keyed by the first day on which the stake counts.
    mapping(address identity => Checkpoints.Trace208) internal _stakes;
    /// @dev The maximum value minus the reservation. The default of 0 therefore means that there is no cap.
    mapping(address identity => Checkpoints.Trace208) internal _unreserved;

    /* CONSTRUCTOR */

    constructor(IERC20Metadata stakingToken) {
        uint8 decimals = stakingToken.decimals();
        require(decimals == 18, UnsupportedDecimals(decimals));
        STAKING_TOKEN = stakingToken;
    }

    /* STAKE */

    /// @inheritdoc IInferenceStaking
    function enter(uint256 amount) external {
        _enter(msg.sender, msg.sender, amount);
    }

    /// @inheritdoc IInferencePool
    function enterFor(address identity, uint256 amount) external {
        _enter(identity, identity, amount);
    }

    /// @inheritdoc IInferenceStaking
    function enterUnder(address identity, uint256 amount) external {
        _enter(msg.sender, identity, amount);
    }

    /// @inheritdoc IInferenceStaking
    function requestExit(address identity, uint256 amount, address to) external returns (uint256 exitId) {
        uint256 owned = stakeOf[msg.sender][identity];
        require(amount != 0, ZeroAmount());
        require(to != address(0), ZeroAddress());
        require(amount <= owned, InsufficientStake(amount, owned));

        stakeOf[msg.sender][identity] = owned - amount;
        uint256 stakeAfter = _setStake(identity, totalStakeOf(identity) - amount);
        exitId = ++_exitCount;
        uint256 readyAt = block.timestamp + COOLDOWN;
        exits[exitId] = Exit(to, readyAt.toUint64(), amount);
        emit ExitRequested(exitId, msg.sender, identity, amount, stakeAfter, to, readyAt);
    }

    /// @inheritdoc IInferenceStaking
    function exit(uint256 exitId) external {
        Exit memory due = exits[exitId];
        require(due.amount != 0, UnknownExit(exitId));
        require(block.timestamp >= due.readyAt, ExitNotReady(exitId, due.readyAt));

        delete exits[exitId];
        emit Exited(exitId, due.to, due.amount);
        STAKING_TOKEN.safeTransfer(due.to, due.amount);
    }

    /* RESERVATION */

    /// @inheritdoc IInferencePool
    function reserve(uint256 amount) external {
        uint256 unreserved = Math.saturatingSub(type(uint208).max, amount);
        _unreserved[msg.sender].push(_tomorrow(), unreserved.toUint208());
        emit Reserved(msg.sender, amount);
    }

    /* VIEWS */

    /// @inheritdoc IInferenceStaking
    function totalStakeOf(address identity) public view returns (uint256) {
        return _stakes[identity].latest();
    }

    /// @inheritdoc IInferenceStaking
    function reservationOf(address identity) external view returns (uint256) {
        uint256 unreserved = _unreserved[identity].latest();
        return unreserved == 0 ? type(uint256).max : type(uint208).max - unreserved;
    }

    /// @inheritdoc IInferencePool
    function capacityOn(address identity, uint256 day) public view returns (uint256 nanoUsd) {
        uint48 key = uint48(Math.min(day, type(uint48).max));
        uint256 stake = _stakes[identity].upperLookupRecent(key);
        uint256 reservation = type(uint208).max - _unreserved[identity].upperLookupRecent(key);
        return Math.min(stake, reservation) / STAKE_UNITS_PER_NANO_USD;
    }

    /// @inheritdoc IInferencePool
    function capacityToday(address identity) external view returns (uint256 nanoUsd) {
        return capacityOn(identity, block.timestamp / 1 days);
    }

    /* INTERNAL */

    function _enter(address owner, address identity, uint256 amount) internal {
        require(amount != 0, ZeroAmount());
        require(identity != address(0), ZeroAddress());

        stakeOf[owner][identity] += amount;
        uint256 stakeAfter = _setStake(identity, totalStakeOf(identity) + amount);
        emit Entered(owner, identity, amount, stakeAfter);

        uint256 balanceBefore = STAKING_TOKEN.balanceOf(address(this));
        STAKING_TOKEN.safeTransferFrom(msg.sender, address(this), amount);
        uint256 received = STAKING_TOKEN.balanceOf(address(this)) - balanceBefore;
        require(received == amount, WrongAmountReceived(amount, received));
    }

    function _setStake(address identity, uint256 stake) internal returns (uint256) {
        _stakes[identity].push(_tomorrow(), stake.toUint208());
        return stake;
    }

    function _tomorrow() internal view returns (uint48) {
        return uint48(block.timestamp / 1 days + 1);
    }
}
