// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IInferenceSettlement} from "./interfaces/IInferenceSettlement.sol";
import {IInferenceToken} from "./interfaces/IInferenceToken.sol";
import {IStablecoin} from "./interfaces/IStablecoin.sol";
import {ITokenBackingOutbox} from "./interfaces/ITokenBackingOutbox.sol";
import {ITokenMinter} from "./interfaces/ITokenMinter.sol";

/// @title TokenMinter
/// @notice Mints at par and, on the primary chain, holds the backing. See {ITokenMinter}.
contract TokenMinter is ITokenMinter, ReentrancyGuardTransient {
    using SafeCast for uint256;
    using SafeERC20 for IStablecoin;

    /* IMMUTABLES */

    /// @inheritdoc ITokenMinter
    IInferenceToken public immutable TOKEN;
    /// @inheritdoc ITokenMinter
    IStablecoin public immutable STABLECOIN;
    /// @inheritdoc ITokenMinter
    IInferenceSettlement public immutable SETTLEMENT;
    /// @inheritdoc ITokenMinter
    ITokenBackingOutbox public immutable OUTBOX;
    /// @inheritdoc ITokenMinter
    address public immutable BRIDGE;
    /// @inheritdoc ITokenMinter
    uint256 public immutable SCALE;

    /// @dev The contract that holds incoming dollars: this one on the primary chain, the outbox on a secondary chain.
    address internal immutable CUSTODIAN;

    /* STORAGE */

    /// @inheritdoc ITokenMinter
    uint256 public backing;
    /// @inheritdoc ITokenMinter
    mapping(uint32 eid => address) public inboxOf;
    /// @inheritdoc ITokenMinter
    mapping(uint32 eid => Line) public lineOf;

    uint32[] internal _secondaryEids;

    /// @dev Packed in one slot, because every message from a secondary chain reads both.
    struct Line {
        uint128 balance;
        uint128 gifted;
    }

    /* CONSTRUCTOR */

    constructor(
        IInferenceToken token,
        IStablecoin stablecoin,
        IInferenceSettlement settlement,
        ITokenBackingOutbox outbox,
        address bridge,
        Inbox[] memory inboxes
    ) {
        require((address(settlement) == address(0)) != (address(outbox) == address(0)), AmbiguousChain());
        uint8 decimals = stablecoin.decimals();
        require(decimals >= 6 && decimals <= 18, UnsupportedDecimals(decimals));

        TOKEN = token;
        STABLECOIN = stablecoin;
        SETTLEMENT = settlement;
        OUTBOX = outbox;
        BRIDGE = bridge;
        SCALE = 10 ** (decimals - 6);
        CUSTODIAN = address(outbox) == address(0) ? address(this) : address(outbox);
        for (uint256 i; i < inboxes.length; ++i) {
            _secondaryEids.push(inboxes[i].eid);
            inboxOf[inboxes[i].eid] = inboxes[i].inbox;
        }
    }

    /* MODIFIERS */

    modifier onlySettlement() {
        require(msg.sender == address(SETTLEMENT), OnlySettlement());
        _;
    }

    modifier onlyBridge() {
        require(msg.sender == BRIDGE, OnlyBridge());
        _;
    }

    modifier onlyKnown(uint32 eid) {
        require(inboxOf[eid] != address(0), UnknownChain(eid));
        _;
    }

    /* MINT */

    /// @inheritdoc ITokenMinter
    function mint(uint256 amount) external nonReentrant {
        _pull(msg.sender, amount);
        _mint(amount, msg.sender, msg.sender);
    }

    /// @inheritdoc ITokenMinter
    function mint(uint256 amount, address to) external nonReentrant {
        _pull(msg.sender, amount);
        _mint(amount, to, msg.sender);
    }

    /// @inheritdoc ITokenMinter
    function mintWithPermit(uint256 amount, address to, Permit calldata permit) external nonReentrant {
        _tryPermit(amount, permit);
        _pull(msg.sender, amount);
        _mint(amount, to, msg.sender);
    }

    /// @inheritdoc ITokenMinter
    function mintWithAuthorization(uint256 amount, address to, Authorization calldata authorization)
        external
        nonReentrant
    {
        _pullAuthorized(amount, Action.Mint, to, authorization);
        _mint(amount, to, authorization.from);
    }

    /* MINT AND ACTIVATE */

    /// @inheritdoc ITokenMinter
    function mintAndActivate(uint256 amount, address account) external nonReentrant {
        _pull(msg.sender, amount);
        _activate(amount, account, msg.sender);
    }

    /// @inheritdoc ITokenMinter
    function mintAndActivateWithPermit(uint256 amount, address account, Permit calldata permit) external nonReentrant {
        _tryPermit(amount, permit);
        _pull(msg.sender, amount);
        _activate(amount, account, msg.sender);
    }

    /// @inheritdoc ITokenMinter
    function mintAndActivateWithAuthorization(uint256 amount, address account, Authorization calldata authorization)
        external
        nonReentrant
    {
        _pullAuthorized(amount, Action.Activate, account, authorization);
        _activate(amount, account, authorization.from);
    }

    /* SETTLEMENT */

    /// @inheritdoc ITokenMinter
    function payOut(address to, uint256 amount) external nonReentrant onlySettlement {
        uint256 booked = backing;
        require(amount <= booked, InsufficientBacking(amount, booked));

        uint256 backingAfter = booked - amount;
        backing = backingAfter;
        emit PaidOut(to, amount, backingAfter);
        STABLECOIN.safeTransfer(to, amount * SCALE);
    }

    /// @inheritdoc ITokenMinter
    function mintBack(address to, uint256 amount) external onlySettlement {
        emit MintedBack(to, amount);
        TOKEN.mint(to, amount);
    }

    /* LINES */

    /// @inheritdoc ITokenMinter
    function book(uint32 eid) external nonReentrant onlyKnown(eid) returns (uint256 amount) {
        address inbox = inboxOf[eid];
        amount = STABLECOIN.balanceOf(inbox) / SCALE;
        require(amount != 0, NothingArrived(eid));
        _pull(inbox, amount);
        emit Booked(eid, amount, _raiseLine(eid, amount), _book(amount));
    }

    /// @inheritdoc ITokenMinter
    function fundFloat(uint32 eid, uint256 amount) external nonReentrant onlyKnown(eid) {
        _pull(msg.sender, amount);
        lineOf[eid].gifted += amount.toUint128();
        emit FloatFunded(msg.sender, eid, amount, _raiseLine(eid, amount), _book(amount));
    }

    /// @inheritdoc ITokenMinter
    function raiseLine(uint32 eid, uint256 amount) external onlyBridge onlyKnown(eid) {
        _raiseLine(eid, amount);
    }

    /// @inheritdoc ITokenMinter
    function drawLine(uint32 eid, uint256 amount, bool isActivation) external onlyBridge returns (bool covered) {
        Line storage line = lineOf[eid];
        (uint256 balance, uint256 gifted) = (line.balance, line.gifted);
        covered = isActivation ? amount <= balance : amount + gifted <= balance;
        if (covered) line.balance = (balance - amount).toUint128();
    }

    /* VIEWS */

    /// @inheritdoc ITokenMinter
    function lineSum() external view returns (uint256 sum) {
        for (uint256 i; i < _secondaryEids.length; ++i) {
            sum += lineOf[_secondaryEids[i]].balance;
        }
    }

    /// @inheritdoc ITokenMinter
    function authorizationNonce(Action action, address recipient, bytes32 salt) public pure returns (bytes32) {
        return keccak256(abi.encode(action, recipient, salt));
    }

    /* INTERNAL */

    /// @dev Mints `amount` to `to` against dollars that were received.
    function _mint(uint256 amount, address to, address payer) internal {
        uint256 backingAfter = _book(amount);
        emit Minted(payer, to, amount, backingAfter);
        TOKEN.mint(to, amount);
    }

    /// @dev Credits `amount` to `account` against dollars that were received. Minting a token and burning it at once
    /// would have the same result and cost more gas.
    function _activate(uint256 amount, address account, address payer) internal {
        require(address(SETTLEMENT) != address(0), NoSettlement());
        uint256 backingAfter = _book(amount);
        emit MintedAndActivated(payer, account, amount, backingAfter);
        SETTLEMENT.activateMinted(amount, account, payer);
    }

    /// @dev Books received dollars at their custodian. Returns the backing on this chain.
    function _book(uint256 amount) internal returns (uint256 backingAfter) {
        if (CUSTODIAN != address(this)) {
            OUTBOX.onMint(amount);
            return 0;
        }
        backingAfter = backing + amount;
        backing = backingAfter;
    }

    function _raiseLine(uint32 eid, uint256 amount) internal returns (uint256 lineAfter) {
        lineAfter = lineOf[eid].balance + amount;
        lineOf[eid].balance = lineAfter.toUint128();
    }

    /// @dev Pulls dollars from `owner` by allowance.
    function _pull(address owner, uint256 amount) internal {
        require(amount != 0, ZeroAmount());
        uint256 expected = amount * SCALE;
        uint256 balanceBefore = STABLECOIN.balanceOf(CUSTODIAN);
        STABLECOIN.safeTransferFrom(owner, CUSTODIAN, expected);
        _checkReceived(expected, balanceBefore);
    }

    /// @dev Pulls dollars from the signer of an authorization, which names this contract as payee.
    function _pullAuthorized(uint256 amount, Action action, address recipient, Authorization calldata authorization)
        internal
    {
        require(amount != 0, ZeroAmount());
        uint256 expected = amount * SCALE;
        uint256 balanceBefore = STABLECOIN.balanceOf(CUSTODIAN);
        STABLECOIN.receiveWithAuthorization(
            authorization.from,
            address(this),
            expected,
            authorization.validAfter,
            authorization.validBefore,
            authorizationNonce(action, recipient, authorization.salt),
            authorization.v,
            authorization.r,
            authorization.s
        );
        if (CUSTODIAN != address(this)) STABLECOIN.safeTransfer(CUSTODIAN, expected);
        _checkReceived(expected, balanceBefore);
    }

    /// @dev The permit fails if someone else has already submitted it. The allowance then exists, so the failure is
    /// ignored.
    function _tryPermit(uint256 amount, Permit calldata permit) internal {
        try STABLECOIN.permit(
            msg.sender, address(this), amount * SCALE, permit.deadline, permit.v, permit.r, permit.s
        ) {}
            catch {}
    }

    /// @dev Reverts for a stablecoin that takes a transfer fee or reports a transfer that it did not make.
    function _checkReceived(uint256 expected, uint256 balanceBefore) internal view {
        uint256 received = STABLECOIN.balanceOf(CUSTODIAN) - balanceBefore;
        require(received == expected, WrongAmountReceived(expected, received));
    }
}
