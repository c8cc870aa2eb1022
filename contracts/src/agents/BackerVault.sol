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
/// @notice Holds the backing of agents and pays rewards to their backers. See {IBackerVault}.
contract BackerVault is IBackerVault {
    using SafeCast for uint256;
    using SafeERC20 for IERC20;

    /// @dev The rewards of one agent's backers, in token units. `dripping` is paid out linearly over `day` and is
    /// accounted for until `time`. `collected` was received on `day` and is paid out over the next day.
    struct Drip {
        uint96 dripping;
        uint96 collected;
        uint24 day;
        uint40 time;
    }

    struct Agent {
        Drip drip;
        uint256 totalBacking;
        /// @dev Cumulative reward per unit of backing, times PRECISION.
        uint256 perUnit;
    }

    struct Backer {
        uint256 backing;
        /// @dev The agent's `perUnit` when `owed` was last updated.
        uint256 perUnitCounted;
        uint256 owed;
    }

    /* CONSTANTS */

    /// @inheritdoc IBackerVault
    uint256 public constant MIN_TOTAL_BACKING = 1e18;

    /// @dev Rewards have 6 decimals and backing has 18. With this factor, the rounding loss of a day's rewards is far
    /// below one unit.
    uint256 internal constant PRECISION = 1e36;

    /// @dev The extra gas of a storage write that changes the value (from zero, or from another value), compared with a
    /// write that keeps it.
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
        // An unlimited allowance is safe: the pool pulls only from its caller, and only the amount to stake.
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

        if (totalAfter < MIN_TOTAL_BACKING) _returnToSafe(agent, amount, totalAfter);
        if (address(POOL) != address(0)) POOL.requestExit(agent, amount, msg.sender);
        else STAKING_TOKEN.safeTransfer(msg.sender, amount);
    }

    /* REWARDS */

    /// @inheritdoc IBackerVault
    function reward(address agent, uint256 amount) external {
        require(msg.sender == CONVERTER, OnlyConverter());
        uint256 toBackers;
        if (_agents[agent].totalBacking >= MIN_TOTAL_BACKING) {
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
        // A claim that pays something changes two balances. This one pays nothing, so it uses the same gas here.
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

    /// @dev Accounts for the rewards of `account` until now, before its backing changes. Gas does not depend on the
    /// second.
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

    /// @dev Brings the agent's rewards up to date. Gas does not depend on the second.
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

    /// @dev Whether the agent's backers will earn more in a later second.
    function _isDripping(address agent) internal view returns (bool) {
        return _agents[agent].totalBacking != 0 && _left(_agents[agent].drip) != 0;
    }

    /// @dev Uses the gas of changing a storage word that holds `value`.
    function _useGasOfChange(uint256 value) internal view {
        _useGas(value == 0 ? SET_GAS : CHANGE_GAS);
    }

    /// @dev A wallet sets the gas limit by an estimate, and the call runs later. Values that depend on time do not
    /// change within one second, so writing them again is cheaper. A call estimated in the second of the agent's last
    /// change would therefore run out of gas later. This function uses the difference, so that the gas is the same in
    /// both cases.
    function _useGas(uint256 amount) internal view {
        uint256 left = gasleft();
        uint256 end = left > amount ? left - amount : 0;
        while (gasleft() > end) {}
    }

    /// @dev The agent's drip and cumulative reward per unit as of now. Does not write.
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
        // Without backers nothing drips: when the last one left, all that remained was sent to the Safe.
        if (total != 0) perUnit += (before - _left(drip)) * PRECISION / total;
    }

    /// @dev The amount that has not dripped. It is exact at every moment, because it is computed from the day's total.
    function _left(Drip memory drip) internal pure returns (uint256) {
        uint256 elapsed = drip.time - uint256(drip.day) * 1 days;
        return drip.dripping - drip.dripping * elapsed / 1 days + drip.collected;
    }

    /// @dev Pays the Safe the share of `gone` in the rewards that have not dripped; `remaining` keeps its own.
    function _returnToSafe(address agent, uint256 gone, uint256 remaining) internal {
        Drip memory drip = _agents[agent].drip;
        uint256 left = _left(drip);
        drip.dripping = (drip.dripping * remaining / (gone + remaining)).toUint96();
        drip.collected = (drip.collected * remaining / (gone + remaining)).toUint96();
        uint256 returned = left - _left(drip);
        if (returned == 0) return;
        _agents[agent].drip = drip;
        emit ReturnedToSafe(agent, returned);
        _pay(REGISTRY.safeOf(agent), returned);
    }

    function _pay(address to, uint256 amount) internal {
        IERC20(TOKEN).safeTransfer(to, amount);
    }
}
