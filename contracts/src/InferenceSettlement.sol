// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IInferenceSettlement} from "./interfaces/IInferenceSettlement.sol";
import {IInferenceToken} from "./interfaces/IInferenceToken.sol";
import {ITokenMinter} from "./interfaces/ITokenMinter.sol";

/// @title InferenceSettlement
/// @notice Credit, and the ceiling of a day. See {IInferenceSettlement}.
contract InferenceSettlement is IInferenceSettlement {
    using SafeCast for uint256;

    /* CONSTANTS */

    /// @inheritdoc IInferenceSettlement
    uint256 public constant NANO_USD_PER_TOKEN_UNIT = 1000;
    /// @inheritdoc IInferenceSettlement
    uint96 public constant FIRST_CEILING_NANO_USD = 50e9;

    /* IMMUTABLES */

    /// @inheritdoc IInferenceSettlement
    IInferenceToken public immutable TOKEN;
    /// @inheritdoc IInferenceSettlement
    ITokenMinter public immutable MINTER;
    /// @inheritdoc IInferenceSettlement
    address public immutable TIMELOCK;

    /* STORAGE */

    /// @inheritdoc IInferenceSettlement
    address public settler;
    /// @inheritdoc IInferenceSettlement
    uint96 public ceilingNanoUsd = FIRST_CEILING_NANO_USD;
    /// @inheritdoc IInferenceSettlement
    address public guardian;
    /// @inheritdoc IInferenceSettlement
    mapping(uint256 day => uint256) public paidNanoUsd;
    /// @inheritdoc IInferenceSettlement
    mapping(address account => uint256) public creditNanoUsd;

    /// @dev One slot, because every activation changes both.
    uint64 internal _activationCount;
    uint192 internal _totalActivated;

    /* CONSTRUCTOR */

    constructor(
        IInferenceToken token,
        ITokenMinter minter,
        address timelock,
        address firstGuardian,
        address firstSettler
    ) {
        TOKEN = token;
        MINTER = minter;
        TIMELOCK = timelock;
        guardian = firstGuardian;
        settler = firstSettler;
        emit CeilingChanged(0, FIRST_CEILING_NANO_USD);
        emit GuardianChanged(address(0), firstGuardian);
        emit SettlerChanged(address(0), firstSettler);
    }

    /* MODIFIERS */

    modifier onlyTimelock() {
        require(msg.sender == TIMELOCK, OnlyTimelock());
        _;
    }

    modifier onlyGuardian() {
        require(msg.sender == guardian, OnlyGuardian());
        _;
    }

    /* CREDIT */

    /// @inheritdoc IInferenceSettlement
    function activate(uint256 amount) external {
        _raiseCredit(amount, msg.sender, msg.sender, 0, 0);
        TOKEN.burn(msg.sender, amount);
    }

    /// @inheritdoc IInferenceSettlement
    function activateFor(uint256 amount, address account) external {
        _raiseCredit(amount, account, msg.sender, 0, 0);
        TOKEN.burn(msg.sender, amount);
    }

    /// @inheritdoc IInferenceSettlement
    function activateMinted(uint256 amount, address account, address from) external {
        require(msg.sender == address(MINTER), OnlyMinter());
        _raiseCredit(amount, account, from, 0, 0);
    }

    /* CEILING AND ROLES */

    /// @inheritdoc IInferenceSettlement
    function raiseCeiling(uint96 toNanoUsd) external onlyTimelock {
        uint96 current = ceilingNanoUsd;
        require(toNanoUsd > current, CeilingNotHigher(current, toNanoUsd));
        ceilingNanoUsd = toNanoUsd;
        emit CeilingChanged(current, toNanoUsd);
    }

    /// @inheritdoc IInferenceSettlement
    function lowerCeiling(uint96 toNanoUsd) external onlyGuardian {
        uint96 current = ceilingNanoUsd;
        require(toNanoUsd < current, CeilingNotLower(current, toNanoUsd));
        ceilingNanoUsd = toNanoUsd;
        emit CeilingChanged(current, toNanoUsd);
    }

    /// @inheritdoc IInferenceSettlement
    function revokeSettler() external onlyGuardian {
        _setSettler(address(0));
    }

    /// @inheritdoc IInferenceSettlement
    function setSettler(address newSettler) external onlyTimelock {
        _setSettler(newSettler);
    }

    /// @inheritdoc IInferenceSettlement
    function setGuardian(address newGuardian) external onlyTimelock {
        emit GuardianChanged(guardian, newGuardian);
        guardian = newGuardian;
    }

    /* VIEWS */

    /// @inheritdoc IInferenceSettlement
    function ceilingToday() external view returns (uint256 day, uint256 leftNanoUsd, uint256 resetsAt) {
        day = block.timestamp / 1 days;
        leftNanoUsd = Math.saturatingSub(ceilingNanoUsd, paidNanoUsd[day]);
        resetsAt = (day + 1) * 1 days;
    }

    /// @inheritdoc IInferenceSettlement
    function totalCreditNanoUsd() external view returns (uint256) {
        return _totalActivated * NANO_USD_PER_TOKEN_UNIT;
    }

    /// @inheritdoc IInferenceSettlement
    function activationCount() external view returns (uint256) {
        return _activationCount;
    }

    /// @inheritdoc IInferenceSettlement
    function totalActivated() external view returns (uint256) {
        return _totalActivated;
    }

    /* INTERNAL */

    /// @dev The only way credit rises. The caller answers for the dollars: burned tokens, or backing booked in the same
    /// transaction.
    function _raiseCredit(uint256 amount, address account, address from, uint32 srcEid, bytes32 guid) internal {
        require(amount != 0, ZeroAmount());
        require(account != address(0), ZeroAccount());

        (uint64 count, uint192 total) = (_activationCount, _totalActivated);
        uint64 id = count + 1;
        uint192 totalAfter = (total + amount).toUint192();
        uint256 creditAfter = creditNanoUsd[account] + amount * NANO_USD_PER_TOKEN_UNIT;

        (_activationCount, _totalActivated) = (id, totalAfter);
        creditNanoUsd[account] = creditAfter;
        emit Activated(id, account, from, amount, totalAfter, creditAfter, srcEid, guid);
    }

    function _setSettler(address newSettler) internal {
        emit SettlerChanged(settler, newSettler);
        settler = newSettler;
    }
}
