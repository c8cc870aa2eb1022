// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SetConfigParam} from "@layerzerolabs/lz-evm-protocol-v2/contracts/interfaces/IMessageLibManager.sol";
import {MessagingFee, OApp, Origin} from "@layerzerolabs/oapp-evm/contracts/oapp/OApp.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IInferenceSettlement} from "./interfaces/IInferenceSettlement.sol";
import {IInferenceToken} from "./interfaces/IInferenceToken.sol";
import {ITokenBridge} from "./interfaces/ITokenBridge.sol";
import {ITokenMinter} from "./interfaces/ITokenMinter.sol";
import {MessageCodec} from "./libraries/MessageCodec.sol";
import {PathwayConfig} from "./libraries/PathwayConfig.sol";

/// @title TokenBridge
/// @notice Transfers the token between chains and activates it from secondary chains. See {ITokenBridge}.
contract TokenBridge is ITokenBridge, OApp {
    using MessageCodec for Message;
    using SafeCast for uint256;

    /* CONSTANTS */

    /// @inheritdoc ITokenBridge
    uint256 public constant MAX_PAUSE = 7 days;

    /* IMMUTABLES */

    /// @inheritdoc ITokenBridge
    IInferenceToken public immutable TOKEN;
    /// @inheritdoc ITokenBridge
    ITokenMinter public immutable MINTER;
    /// @inheritdoc ITokenBridge
    IInferenceSettlement public immutable SETTLEMENT;
    /// @inheritdoc ITokenBridge
    uint32 public immutable PRIMARY_EID;
    /// @inheritdoc ITokenBridge
    uint96 public immutable DAILY_MINT_CAP;
    uint128 internal immutable RECEIVE_GAS;

    /* STORAGE */

    /// @inheritdoc ITokenBridge
    address public guardian;
    /// @dev Packed in the guardian's slot.
    uint64 internal _pausedUntil;

    /// @dev The amount that transfers minted on `_mintDay`, the last day with a mint, less what left on that day.
    /// Secondary chains only.
    uint64 internal _mintDay;
    uint96 internal _minted;

    /// @inheritdoc ITokenBridge
    mapping(bytes32 guid => bytes32) public waiting;

    /// @dev The waiting activations from each chain in order of arrival: those from `head` to before `tail`. Some of
    /// them may have been delivered or discarded since.
    mapping(uint32 srcEid => Queue) internal _queues;

    struct Queue {
        uint128 head;
        uint128 tail;
        mapping(uint256 index => bytes32) guids;
    }

    /* CONSTRUCTOR */

    constructor(Wiring memory wiring) OApp(wiring.endpoint, wiring.timelock) Ownable(wiring.timelock) {
        bool isPrimary = address(wiring.settlement) != address(0);
        require(isPrimary == (address(wiring.minter) != address(0)), AmbiguousChain());
        require(isPrimary || wiring.pathways.length == 1, AmbiguousChain());

        TOKEN = wiring.token;
        MINTER = wiring.minter;
        SETTLEMENT = wiring.settlement;
        PRIMARY_EID = isPrimary ? 0 : wiring.pathways[0].eid;
        DAILY_MINT_CAP = wiring.dailyMintCap;
        RECEIVE_GAS = wiring.receiveGas;
        for (uint256 i; i < wiring.pathways.length; ++i) {
            _open(wiring.pathways[i]);
        }
        _setGuardian(wiring.guardian);
    }

    /* MODIFIERS */

    modifier whenNotPaused() {
        require(block.timestamp >= _pausedUntil, Paused(_pausedUntil));
        _;
    }

    /* SEND */

    /// @inheritdoc ITokenBridge
    function bridge(uint32 dstEid, uint256 amount, address to, address refund) external payable returns (bytes32 guid) {
        return _send(dstEid, Kind.Transfer, amount, to, refund);
    }

    /// @inheritdoc ITokenBridge
    function activateOnBase(uint256 amount) external payable returns (bytes32 guid) {
        return _activateOnBase(amount, msg.sender, msg.sender);
    }

    /// @inheritdoc ITokenBridge
    function activateOnBase(uint256 amount, address account, address refund) external payable returns (bytes32 guid) {
        return _activateOnBase(amount, account, refund);
    }

    /* DELIVER */

    /// @inheritdoc ITokenBridge
    function deliver(bytes32 guid, uint32 srcEid, Message calldata message) external whenNotPaused {
        require(waiting[guid] == _digest(srcEid, message), NotWaiting(guid));
        require(_isNext(srcEid, guid), NotNext(guid));
        delete waiting[guid];
        require(_tryDeliver(guid, srcEid, message), NotCovered(guid));
    }

    /// @inheritdoc ITokenBridge
    function discard(bytes32 guid) external onlyOwner {
        require(waiting[guid] != 0, NotWaiting(guid));
        delete waiting[guid];
        emit Discarded(guid);
    }

    /* ROLES */

    /// @inheritdoc ITokenBridge
    function pause(uint256 until) external {
        require(msg.sender == guardian, OnlyGuardian());
        uint256 latest = block.timestamp + MAX_PAUSE;
        require(until <= latest, PauseTooLong(latest));
        _pausedUntil = until.toUint64();
        emit PausedUntil(until);
    }

    /// @inheritdoc ITokenBridge
    function setGuardian(address newGuardian) external onlyOwner {
        _setGuardian(newGuardian);
    }

    /// @notice Always reverts, because peers never change.
    function setPeer(uint32, bytes32) public pure override {
        revert PeersAreFixed();
    }

    /* VIEWS */

    /// @inheritdoc ITokenBridge
    function quote(uint32 dstEid) external view returns (uint256 nativeFee) {
        Message memory any;
        return _quote(dstEid, any.encode(), options(), false).nativeFee;
    }

    /// @inheritdoc ITokenBridge
    function pausedUntil() external view returns (uint256) {
        return _pausedUntil;
    }

    /// @inheritdoc ITokenBridge
    function mintedToday() public view returns (uint256) {
        return _mintDay == block.timestamp / 1 days ? _minted : 0;
    }

    /// @inheritdoc ITokenBridge
    function options() public view returns (bytes memory) {
        return PathwayConfig.options(RECEIVE_GAS);
    }

    /* INTERNAL */

    function _activateOnBase(uint256 amount, address account, address refund) internal returns (bytes32 guid) {
        require(PRIMARY_EID != 0, AlreadyOnPrimary());
        return _send(PRIMARY_EID, Kind.Activation, amount, account, refund);
    }

    /// @dev Reverts for any message that the destination could never deliver, because burned tokens cannot be restored.
    function _send(uint32 dstEid, Kind kind, uint256 amount, address to, address refund)
        internal
        whenNotPaused
        returns (bytes32 guid)
    {
        require(amount != 0, ZeroAmount());
        require(to != address(0), ZeroAccount());
        TOKEN.crosschainBurn(msg.sender, amount);
        if (PRIMARY_EID == 0) {
            require(amount <= DAILY_MINT_CAP, AboveDailyMintCap(amount, DAILY_MINT_CAP));
            MINTER.raiseLine(dstEid, amount);
        } else {
            _leave(amount);
        }

        Message memory message = Message(kind, msg.sender, to, amount.toUint96());
        MessagingFee memory fee = MessagingFee(msg.value, 0);
        guid = _lzSend(dstEid, message.encode(), options(), fee, refund).guid;
        emit Sent(guid, dstEid, message);
    }

    /// @dev LayerZero delivers each verified message at most once: the endpoint clears the message before it calls.
    function _lzReceive(Origin calldata origin, bytes32 guid, bytes calldata payload, address, bytes calldata)
        internal
        override
        whenNotPaused
    {
        Message memory message = MessageCodec.decode(payload);
        if (_isNext(origin.srcEid, guid) && _tryDeliver(guid, origin.srcEid, message)) return;
        waiting[guid] = _digest(origin.srcEid, message);
        if (message.kind == Kind.Activation) {
            Queue storage queue = _queues[origin.srcEid];
            queue.guids[queue.tail++] = guid;
        }
        emit Waiting(guid, origin.srcEid, message);
    }

    /// @dev Whether no activation from `srcEid` waits that arrived before the message `guid`.
    function _isNext(uint32 srcEid, bytes32 guid) internal returns (bool) {
        Queue storage queue = _queues[srcEid];
        (uint128 head, uint128 tail) = (queue.head, queue.tail);
        while (head != tail && waiting[queue.guids[head]] == 0) {
            ++head;
        }
        queue.head = head;
        return head == tail || queue.guids[head] == guid;
    }

    /// @dev The only function that mints or credits for a message. Returns false and changes nothing if it is not
    /// covered.
    function _tryDeliver(bytes32 guid, uint32 srcEid, Message memory message) internal returns (bool) {
        bool isActivation = message.kind == Kind.Activation;
        if (!_cover(srcEid, message.amount, isActivation)) return false;
        emit Delivered(guid, srcEid, message);
        if (isActivation) SETTLEMENT.activateBridged(message.amount, message.to, message.from, srcEid, guid);
        else TOKEN.crosschainMint(message.to, message.amount);
        return true;
    }

    /// @dev Draws on the source chain's line (primary chain) or on the daily mint cap (secondary chain).
    function _cover(uint32 srcEid, uint96 amount, bool isActivation) internal returns (bool) {
        if (PRIMARY_EID == 0) return MINTER.drawLine(srcEid, amount, isActivation);
        uint256 mintedAfter = mintedToday() + amount;
        if (mintedAfter > DAILY_MINT_CAP) return false;
        (_mintDay, _minted) = (uint64(block.timestamp / 1 days), mintedAfter.toUint96());
        return true;
    }

    /// @dev Tokens that leave a secondary chain make room under its daily mint cap again.
    function _leave(uint256 amount) internal {
        uint256 minted = mintedToday();
        if (minted != 0) _minted = Math.saturatingSub(minted, amount).toUint96();
    }

    /// @dev Sets every parameter explicitly, because the owner of LayerZero's defaults may change them.
    function _open(Pathway memory pathway) internal {
        require(pathway.verifiers.length >= 2, TooFewVerifiers(pathway.eid));
        bool isComplete =
            pathway.executor != address(0) && pathway.sendConfirmations != 0 && pathway.receiveConfirmations != 0;
        require(isComplete, IncompletePathway(pathway.eid));
        _setPeer(pathway.eid, bytes32(uint256(uint160(pathway.peer))));
        endpoint.setSendLibrary(address(this), pathway.eid, pathway.sendLibrary);
        endpoint.setReceiveLibrary(address(this), pathway.eid, pathway.receiveLibrary, 0);
        (SetConfigParam[] memory sending, SetConfigParam[] memory receiving) = PathwayConfig.configs(pathway);
        endpoint.setConfig(address(this), pathway.sendLibrary, sending);
        endpoint.setConfig(address(this), pathway.receiveLibrary, receiving);
    }

    function _setGuardian(address newGuardian) internal {
        emit GuardianChanged(guardian, newGuardian);
        guardian = newGuardian;
    }

    function _digest(uint32 srcEid, Message memory message) internal pure returns (bytes32) {
        return keccak256(abi.encode(srcEid, message));
    }
}
