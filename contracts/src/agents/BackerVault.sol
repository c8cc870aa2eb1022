// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {IInferenceToken} from "../interfaces/IInferenceToken.sol";
import {IBackerVault} from "./interfaces/IBackerVault.sol";
import {IInferenceStaking} from "./interfaces/IInferenceStaking.sol";

/// @title BackerVault
/// @notice Backing of agents, and what it earns. See {IBackerVault}.
contract BackerVault is IBackerVault {
    using SafeCast for uint256;
    using SafeERC20 for IERC20;

    /// @dev What the backers of one agent get, in token units. `dripping` is paid out evenly over `day`, and has been until
    /// `time`; `collected` came in on that day and drips over the next one.
    struct Drip {
        uint96 dripping;
        uint96 collected;
        uint24 day;
        uint40 time;
    }

    struct Agent {
        Drip drip;
        uint256 totalBacking;
        /// @dev What one unit of backing has earned since the beginning, times PRECISION.
        uint256 perUnit;
    }

    struct Backer {
        uint256 backing;
        /// @dev The agent's `perUnit` up to which `owed` is counted.
        uint256 perUnitCounted;
        uint256 owed;
    }

    /* CONSTANTS */

    /// @dev Rewards have 6 decimals and backing has 18: with this, what rounding keeps of a day's drip is far below one unit.
    uint256 internal constant PRECISION = 1e36;

    /// @dev What a storage word costs more when it changes, from zero or from another value, than when it keeps its value.
    uint256 internal constant SET_GAS = 20_000;
    uint256 internal constant CHANGE_GAS = 2_900;

    /* IMMUTABLES */

    /// @inheritdoc IBackerVault
    IInferenceToken public immutable TOKEN;
    /// @inheritdoc IBackerVault
    IERC20 public immutable STAKING_TOKEN;
    /// @inheritdoc IBackerVault
    IInferenceStaking public immutable POOL;
    /// @inheritdoc IBackerVault
    IAgentRegistry public immutable REGISTRY;
    /// @inheritdoc IBackerVault
    address public immutable CONVERTER;

    /* STORAGE */

    mapping(address agent => Agent) internal _agents;
    mapping(address agent => mapping(address backer => Backer)) internal _backers;

    /* CONSTRUCTOR */

    constructor(
        IInferenceToken token,
        IERC20 stakingToken,
        IInferenceStaking pool,
        IAgentRegistry registry,
        address converter
    ) {
        TOKEN = token;
        STAKING_TOKEN = stakingToken;
        POOL = pool;
        REGISTRY = registry;
        CONVERTER = converter;
        // The pool takes what it is told to stake, from its caller: nothing else can use this.
        if (address(pool) != address(0)) stakingToken.forceApprove(address(pool), type(uint256).max);
    }

    /* BACKING */

    /// @inheritdoc IBackerVault
    function back(address agent, uint256 amount) external {
        require(amount != 0, ZeroAmount());
        require(REGISTRY.isAgent(agent), UnknownAgent(agent));

        Backer storage backer = _count(agent, msg.sender);
        backer.backing += amount;
        uint256 totalAfter = _agents[agent].totalBacking + amount;
        _agents[agent].totalBacking = totalAfter;
        emit Backed(agent, msg.sender, amount, totalAfter);

        uint256 balanceBefore = STAKING_TOKEN.balanceOf(address(this));
        STAKING_TOKEN.safeTransferFrom(msg.sender, address(this), amount);
        uint256 received = STAKING_TOKEN.balanceOf(address(this)) - balanceBefore;
        require(received == amount, WrongAmountReceived(amount, received));
        if (address(POOL) != address(0)) POOL.enterUnder(agent, amount);
    }

    /// @inheritdoc IBackerVault
    function unback(address agent, uint256 amount) external {
        Backer storage backer = _count(agent, msg.sender);
        uint256 backing = backer.backing;
        require(amount != 0, ZeroAmount());
        require(amount <= backing, InsufficientBacking(amount, backing));

        backer.backing = backing - amount;
        uint256 totalAfter = _agents[agent].totalBacking - amount;
        _agents[agent].totalBacking = totalAfter;
        emit Unbacked(agent, msg.sender, amount, totalAfter);

        if (totalAfter == 0) _returnToSafe(agent);
        if (address(POOL) != address(0)) POOL.requestExit(agent, amount, msg.sender);
        else STAKING_TOKEN.safeTransfer(msg.sender, amount);
    }

    /* REWARDS */

    /// @inheritdoc IBackerVault
    function reward(address agent, uint256 amount) external {
        require(msg.sender == CONVERTER, OnlyConverter());
        uint256 toBackers;
        if (_agents[agent].totalBacking != 0) {
            toBackers = amount / 2;
            _advance(agent);
            _agents[agent].drip.collected += toBackers.toUint96();
        }
        emit Rewarded(agent, amount, toBackers);
        _pay(REGISTRY.safeOf(agent), amount - toBackers);
    }

    /// @inheritdoc IBackerVault
    function claim(address agent) external returns (uint256 amount) {
        Backer storage backer = _count(agent, msg.sender);
        amount = backer.owed;
        backer.owed = 0;
        emit Claimed(agent, msg.sender, amount);
        _pay(msg.sender, amount);
        // With something to pay, two balances would change.
        if (amount == 0 && backer.backing != 0 && _isDripping(agent)) _useGas(CHANGE_GAS + SET_GAS);
    }

    /* VIEWS */

    /// @inheritdoc IBackerVault
    function totalBacking(address agent) external view returns (uint256) {
        return _agents[agent].totalBacking;
    }

    /// @inheritdoc IBackerVault
    function backingOf(address agent, address backer) external view returns (uint256) {
        return _backers[agent][backer].backing;
    }

    /// @inheritdoc IBackerVault
    function claimable(address agent, address backer) external view returns (uint256) {
        (, uint256 perUnit) = _advanced(agent);
        return _owed(_backers[agent][backer], perUnit);
    }

    /// @inheritdoc IBackerVault
    function undripped(address agent) external view returns (uint256) {
        (Drip memory drip,) = _advanced(agent);
        return _left(drip);
    }

    /* INTERNAL */

    /// @dev Counts what `backer` has earned until now, before its backing changes. Costs the same gas at every second.
    function _count(address agent, address account) internal returns (Backer storage backer) {
        backer = _backers[agent][account];
        uint256 perUnit = _advance(agent);
        (uint256 counted, uint256 owedBefore) = (backer.perUnitCounted, backer.owed);
        uint256 owed = _owed(backer, perUnit);
        if ((perUnit == counted || owed == owedBefore) && _isDripping(agent)) {
            if (perUnit == counted) _useGasOfChange(counted);
            if (owed == owedBefore && backer.backing != 0) _useGasOfChange(owed);
        }
        backer.owed = owed;
        backer.perUnitCounted = perUnit;
    }

    function _owed(Backer storage backer, uint256 perUnit) internal view returns (uint256) {
        return backer.owed + backer.backing * (perUnit - backer.perUnitCounted) / PRECISION;
    }

    /// @dev Brings the agent's books up to now. Costs the same gas at every second.
    function _advance(address agent) internal returns (uint256 perUnit) {
        Agent storage books = _agents[agent];
        (uint256 timeBefore, uint256 perUnitBefore) = (books.drip.time, books.perUnit);
        Drip memory drip;
        (drip, perUnit) = _advanced(agent);
        books.drip = drip;
        books.perUnit = perUnit;
        if (timeBefore == drip.time) _useGas(CHANGE_GAS);
        if (perUnit == perUnitBefore && _isDripping(agent)) _useGasOfChange(perUnit);
    }

    /// @dev Whether the agent's backers earn more at a later second.
    function _isDripping(address agent) internal view returns (bool) {
        return _agents[agent].totalBacking != 0 && _left(_agents[agent].drip) != 0;
    }

    /// @dev Uses what it costs to change a word that has `value`.
    function _useGasOfChange(uint256 value) internal view {
        _useGas(value == 0 ? SET_GAS : CHANGE_GAS);
    }

    /// @dev A wallet's gas limit is what the call takes when it is estimated, and the call runs later. What changes with time
    /// keeps its value within a second, which is cheaper: a call that was estimated in the second of the agent's last change
    /// would run out of gas. So it costs the same then.
    function _useGas(uint256 amount) internal view {
        uint256 left = gasleft();
        uint256 end = left > amount ? left - amount : 0;
        while (gasleft() > end) {}
    }

    /// @dev The agent's drip as of now, and what one unit of backing has earned by it.
    function _advanced(address agent) internal view returns (Drip memory drip, uint256 perUnit) {
        drip = _agents[agent].drip;
        perUnit = _agents[agent].perUnit;
        uint256 total = _agents[agent].totalBacking;
        uint256 before = _left(drip);

        uint24 today = uint24(block.timestamp / 1 days);
        if (drip.day != today) {
            drip.dripping = drip.day + 1 == today ? drip.collected : 0;
            drip.collected = 0;
            drip.day = today;
        }
        drip.time = uint40(block.timestamp);
        // Without backers there is nothing to drip: the last one left none behind.
        if (total != 0) perUnit += (before - _left(drip)) * PRECISION / total;
    }

    /// @dev What has not dripped: exact at every moment, because it is computed from the day's whole amount.
    function _left(Drip memory drip) internal pure returns (uint256) {
        uint256 elapsed = drip.time - uint256(drip.day) * 1 days;
        return drip.dripping - drip.dripping * elapsed / 1 days + drip.collected;
    }

    function _returnToSafe(address agent) internal {
        Drip storage drip = _agents[agent].drip;
        uint256 left = _left(drip);
        if (left == 0) return;
        (drip.dripping, drip.collected) = (0, 0);
        emit ReturnedToSafe(agent, left);
        _pay(REGISTRY.safeOf(agent), left);
    }

    function _pay(address to, uint256 amount) internal {
        IERC20(TOKEN).safeTransfer(to, amount);
    }
}
