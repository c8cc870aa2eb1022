// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IInferencePool} from "./interfaces/IInferencePool.sol";
import {IInferenceSettlement} from "./interfaces/IInferenceSettlement.sol";
import {IInferenceToken} from "./interfaces/IInferenceToken.sol";
import {ITokenMinter} from "./interfaces/ITokenMinter.sol";
import {AgentSplit} from "./libraries/AgentSplit.sol";

/// @title InferenceSettlement
/// @notice Holds the credit of every account, debits it in batches, and pays what is owed. See {IInferenceSettlement}.
contract InferenceSettlement is IInferenceSettlement {
    using SafeCast for uint256;

    /* CONSTANTS */

    /// @inheritdoc IInferenceSettlement
    uint256 public constant NANO_USD_PER_TOKEN_UNIT = 1000;
    /// @inheritdoc IInferenceSettlement
    uint96 public constant FIRST_CEILING_NANO_USD = 50e9;
    /// @inheritdoc IInferenceSettlement
    uint256 public constant MAX_BATCH_ENTRIES = 200;
    /// @inheritdoc IInferenceSettlement
    uint256 public constant MAX_BATCH_SERVES = 100;
    /// @inheritdoc IInferenceSettlement
    uint256 public constant MAX_SERVE_AGE_DAYS = 3;
    /// @inheritdoc IInferenceSettlement
    uint256 public constant GRACE = 6 hours;

    /* IMMUTABLES */

    /// @inheritdoc IInferenceSettlement
    IInferenceToken public immutable TOKEN;
    /// @inheritdoc IInferenceSettlement
    ITokenMinter public immutable MINTER;
    /// @inheritdoc IInferenceSettlement
    address public immutable BRIDGE;
    /// @inheritdoc IInferenceSettlement
    IInferencePool public immutable POOL;
    /// @inheritdoc IInferenceSettlement
    IAgentRegistry public immutable REGISTRY;
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
    address public provider;
    /// @inheritdoc IInferenceSettlement
    mapping(uint256 day => uint256) public paidNanoUsd;
    /// @inheritdoc IInferenceSettlement
    mapping(address account => uint256) public creditNanoUsd;
    /// @inheritdoc IInferenceSettlement
    mapping(address agent => mapping(uint256 day => uint256)) public servedNanoUsd;
    /// @inheritdoc IInferenceSettlement
    mapping(address agent => Owed) public owedAgentNanoUsd;
    /// @inheritdoc IInferenceSettlement
    mapping(address account => uint256) public owedBackNanoUsd;

    /// @dev Packed in one slot, because every activation writes both.
    uint64 internal _activationCount;
    uint192 internal _totalActivated;
    /// @dev Packed in one slot, because every batch writes both.
    uint64 internal _batchCount;
    uint192 internal _totalDebitedNanoUsd;
    /// @dev Packed in one slot, because most batches and payments write both.
    uint128 internal _owedProviderNanoUsd;
    uint128 internal _totalOwedNanoUsd;

    /// @inheritdoc IInferenceSettlement
    mapping(uint256 batch => bytes32) public rootOf;

    /// @dev The last day on which the ceiling changed, and the ceiling with which the day before had ended.
    uint64 internal _ceilingDay;
    uint96 internal _ceilingAtMidnight;

    /// @dev Amounts owed to an agent, in nano-dollars.
    struct Owed {
        uint128 safe;
        uint128 treasury;
    }

    /* CONSTRUCTOR */

    constructor(Wiring memory wiring) {
        TOKEN = wiring.token;
        MINTER = wiring.minter;
        BRIDGE = wiring.bridge;
        POOL = wiring.pool;
        REGISTRY = wiring.registry;
        TIMELOCK = wiring.timelock;
        emit CeilingChanged(0, FIRST_CEILING_NANO_USD);
        _setGuardian(wiring.guardian);
        _setSettler(wiring.settler);
        _setProvider(wiring.provider);
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

    /// @inheritdoc IInferenceSettlement
    function activateBridged(uint256 amount, address account, address from, uint32 srcEid, bytes32 guid) external {
        require(msg.sender == BRIDGE, OnlyBridge());
        _raiseCredit(amount, account, from, srcEid, guid);
    }

    /* SETTLE */

    /// @inheritdoc IInferenceSettlement
    function settle(Batch calldata batch) external {
        require(msg.sender == settler, OnlySettler());
        require(batch.id == _batchCount + 1, WrongBatch(_batchCount + 1, batch.id));
        uint256 entries = batch.debits.length + batch.serves.length;
        require(entries != 0 && entries <= MAX_BATCH_ENTRIES, WrongBatchSize(entries));
        require(batch.serves.length <= MAX_BATCH_SERVES, TooManyServes(batch.serves.length));
        require(batch.root != 0, NoRoot());
        uint256 ceiling = ceilingOn(batch.day);

        uint256 toProvider = _debitAll(batch.id, batch.debits);
        (uint256 served, uint256 mintedBack) = _serveAll(batch.id, batch.day, batch.serves);
        uint256 total = toProvider + served;
        uint256 paidAfter = _payFromDay(batch.day, total, ceiling);
        uint192 debitedAfter = _totalDebitedNanoUsd + total.toUint192();

        (_batchCount, _totalDebitedNanoUsd) = (uint64(batch.id), debitedAfter);
        rootOf[batch.id] = batch.root;
        _owedProviderNanoUsd += toProvider.toUint128();
        // `mintedBack` can exceed `total`: it includes fractions of a token unit that earlier batches left owed.
        _totalOwedNanoUsd = (_totalOwedNanoUsd + total - mintedBack).toUint128();
        emit Settled(batch.id, batch.day, batch.root, total, paidAfter, debitedAfter);
    }

    /* PAY */

    /// @inheritdoc IInferenceSettlement
    function payProvider() external {
        (uint256 amount, uint128 rest) = _wholeUnits(_owedProviderNanoUsd);
        _owedProviderNanoUsd = rest;
        _pay(Payee.Provider, address(0), provider, amount, rest);
    }

    /// @inheritdoc IInferenceSettlement
    function paySafe(address agent) external {
        (uint256 amount, uint128 rest) = _wholeUnits(owedAgentNanoUsd[agent].safe);
        owedAgentNanoUsd[agent].safe = rest;
        _pay(Payee.Safe, agent, REGISTRY.safeOf(agent), amount, rest);
    }

    /// @inheritdoc IInferenceSettlement
    function payTreasury(address agent) external {
        (uint256 amount, uint128 rest) = _wholeUnits(owedAgentNanoUsd[agent].treasury);
        owedAgentNanoUsd[agent].treasury = rest;
        _pay(Payee.Treasury, agent, REGISTRY.treasuryOf(agent), amount, rest);
    }

    /* CEILING AND ROLES */

    /// @inheritdoc IInferenceSettlement
    function raiseCeiling(uint96 toNanoUsd) external onlyTimelock {
        uint96 current = ceilingNanoUsd;
        require(toNanoUsd > current, CeilingNotHigher(current, toNanoUsd));
        _setCeiling(current, toNanoUsd);
    }

    /// @inheritdoc IInferenceSettlement
    function lowerCeiling(uint96 toNanoUsd) external onlyGuardian {
        uint96 current = ceilingNanoUsd;
        require(toNanoUsd < current, CeilingNotLower(current, toNanoUsd));
        _setCeiling(current, toNanoUsd);
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
        _setGuardian(newGuardian);
    }

    /// @inheritdoc IInferenceSettlement
    function setProvider(address newProvider) external onlyTimelock {
        _setProvider(newProvider);
    }

    /* VIEWS */

    /// @inheritdoc IInferenceSettlement
    function ceilingToday() external view returns (uint256 day, uint256 leftNanoUsd, uint256 resetsAt) {
        day = block.timestamp / 1 days;
        leftNanoUsd = Math.saturatingSub(ceilingNanoUsd, paidNanoUsd[day]);
        resetsAt = (day + 1) * 1 days;
    }

    /// @inheritdoc IInferenceSettlement
    function ceilingOn(uint256 day) public view returns (uint256 nanoUsd) {
        uint256 today = block.timestamp / 1 days;
        bool isYesterdayInGrace = day == today - 1 && block.timestamp % 1 days < GRACE;
        require(day == today || isYesterdayInGrace, WrongDay(day, today));
        nanoUsd = ceilingNanoUsd;
        if (day != today && _ceilingDay == today) nanoUsd = Math.min(nanoUsd, _ceilingAtMidnight);
    }

    /// @inheritdoc IInferenceSettlement
    function totalCreditNanoUsd() public view returns (uint256) {
        return _totalActivated * NANO_USD_PER_TOKEN_UNIT - _totalDebitedNanoUsd;
    }

    /// @inheritdoc IInferenceSettlement
    function activationCount() external view returns (uint256) {
        return _activationCount;
    }

    /// @inheritdoc IInferenceSettlement
    function totalActivated() external view returns (uint256) {
        return _totalActivated;
    }

    /// @inheritdoc IInferenceSettlement
    function batchCount() external view returns (uint256) {
        return _batchCount;
    }

    /// @inheritdoc IInferenceSettlement
    function totalDebitedNanoUsd() external view returns (uint256) {
        return _totalDebitedNanoUsd;
    }

    /// @inheritdoc IInferenceSettlement
    function owedProviderNanoUsd() external view returns (uint256) {
        return _owedProviderNanoUsd;
    }

    /// @inheritdoc IInferenceSettlement
    function totalOwedNanoUsd() external view returns (uint256) {
        return _totalOwedNanoUsd;
    }

    /// @inheritdoc IInferenceSettlement
    function books() external view returns (Books memory) {
        return Books({
            backing: MINTER.backing() * NANO_USD_PER_TOKEN_UNIT,
            supply: TOKEN.totalSupply() * NANO_USD_PER_TOKEN_UNIT,
            credit: totalCreditNanoUsd(),
            owed: _totalOwedNanoUsd,
            lines: MINTER.lineSum() * NANO_USD_PER_TOKEN_UNIT
        });
    }

    /// @inheritdoc IInferenceSettlement
    function verify(Use calldata use, bytes32[] calldata proof) external view returns (bool) {
        return MerkleProof.verifyCalldata(proof, rootOf[use.batch], leafOf(use));
    }

    /// @inheritdoc IInferenceSettlement
    function leafOf(Use calldata use) public view returns (bytes32) {
        return keccak256(bytes.concat(keccak256(abi.encode(block.chainid, address(this), use))));
    }

    /* INTERNAL */

    /// @dev The only function that raises credit. Its caller guarantees the dollars: either tokens were burned, or
    /// backing was booked in the same transaction.
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

    /// @dev Adds `total` to the amount debited on `day`, of which `ceiling` is the ceiling. Returns the sum.
    function _payFromDay(uint256 day, uint256 total, uint256 ceiling) internal returns (uint256 paidAfter) {
        uint256 paid = paidNanoUsd[day];
        paidAfter = paid + total;
        require(paidAfter <= ceiling, CeilingReached(day, total, Math.saturatingSub(ceiling, paid)));
        paidNanoUsd[day] = paidAfter;
    }

    /// @dev Debits uses that the protocol's account served. Returns their sum.
    function _debitAll(uint256 batch, Debit[] calldata debits) internal returns (uint256 total) {
        for (uint256 i; i < debits.length; ++i) {
            uint256 amountNanoUsd = debits[i].amountNanoUsd;
            _lowerCredit(batch, debits[i].account, amountNanoUsd);
            total += amountNanoUsd;
        }
    }

    /// @dev Debits uses that agents served. Returns their sum, and how much of it was minted back as tokens.
    function _serveAll(uint256 batch, uint256 day, Serve[] calldata serves)
        internal
        returns (uint256 total, uint256 mintedBack)
    {
        for (uint256 i; i < serves.length; ++i) {
            Serve calldata serve = serves[i];
            bool isInTime = serve.day <= day && serve.day + MAX_SERVE_AGE_DAYS >= day;
            require(isInTime, WrongDay(serve.day, day));
            _lowerCredit(batch, serve.account, serve.amountNanoUsd);
            _useCapacity(batch, serve);
            mintedBack += _share(serve);
            total += serve.amountNanoUsd;
        }
    }

    /// @dev The only function that lowers credit.
    function _lowerCredit(uint256 batch, address account, uint256 amountNanoUsd) internal {
        uint256 credit = creditNanoUsd[account];
        require(amountNanoUsd <= credit, InsufficientCredit(account, amountNanoUsd, credit));
        uint256 creditAfter = credit - amountNanoUsd;
        creditNanoUsd[account] = creditAfter;
        emit Debited(batch, account, amountNanoUsd, creditAfter);
    }

    /// @dev Checks the capacity of the day on which the agent served, because that capacity can no longer change.
    function _useCapacity(uint256 batch, Serve calldata serve) internal {
        require(REGISTRY.isAgent(serve.agent), NotAnAgent(serve.agent));
        uint256 served = servedNanoUsd[serve.agent][serve.day];
        uint256 servedAfter = served + serve.amountNanoUsd;
        uint256 capacity = POOL.capacityOn(serve.agent, serve.day);
        if (servedAfter > capacity) {
            uint256 left = Math.saturatingSub(capacity, served);
            revert CapacityExceeded(serve.agent, serve.day, serve.amountNanoUsd, left);
        }
        servedNanoUsd[serve.agent][serve.day] = servedAfter;
        emit Served(batch, serve.account, serve.agent, serve.day, serve.amountNanoUsd, servedAfter);
    }

    /// @dev Books the shares of a use that an agent served. Returns the amount minted back to the account, in
    /// nano-dollars.
    function _share(Serve calldata serve) internal returns (uint256 mintedBack) {
        (uint256 safe, uint256 back, uint256 treasury) = AgentSplit.split(serve.amountNanoUsd);
        Owed storage owed = owedAgentNanoUsd[serve.agent];
        (owed.safe, owed.treasury) = (owed.safe + safe.toUint128(), owed.treasury + treasury.toUint128());

        (uint256 units, uint128 rest) = _wholeUnits(owedBackNanoUsd[serve.account] + back);
        owedBackNanoUsd[serve.account] = rest;
        if (units != 0) MINTER.mintBack(serve.account, units);
        return units * NANO_USD_PER_TOKEN_UNIT;
    }

    /// @dev Pays `amount` token units that were owed; `rest` nano-dollars remain owed.
    function _pay(Payee payee, address agent, address to, uint256 amount, uint256 rest) internal {
        require(amount != 0, NothingOwed());
        _totalOwedNanoUsd -= (amount * NANO_USD_PER_TOKEN_UNIT).toUint128();
        emit Paid(payee, agent, to, amount, rest);
        MINTER.payOut(to, amount);
    }

    /// @dev Dollars and tokens can only be moved in whole token units. The remainder stays owed.
    function _wholeUnits(uint256 nanoUsd) internal pure returns (uint256 units, uint128 rest) {
        return (nanoUsd / NANO_USD_PER_TOKEN_UNIT, (nanoUsd % NANO_USD_PER_TOKEN_UNIT).toUint128());
    }

    /// @dev The first change of a day keeps the ceiling with which the day before ended.
    function _setCeiling(uint96 current, uint96 toNanoUsd) internal {
        uint64 today = uint64(block.timestamp / 1 days);
        if (_ceilingDay != today) (_ceilingDay, _ceilingAtMidnight) = (today, current);
        ceilingNanoUsd = toNanoUsd;
        emit CeilingChanged(current, toNanoUsd);
    }

    function _setSettler(address newSettler) internal {
        emit SettlerChanged(settler, newSettler);
        settler = newSettler;
    }

    function _setGuardian(address newGuardian) internal {
        emit GuardianChanged(guardian, newGuardian);
        guardian = newGuardian;
    }

    function _setProvider(address newProvider) internal {
        emit ProviderChanged(provider, newProvider);
        provider = newProvider;
    }
}
