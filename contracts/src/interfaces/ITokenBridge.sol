// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IInferenceSettlement} from "./IInferenceSettlement.sol";
import {IInferenceToken} from "./IInferenceToken.sol";
import {ITokenMinter} from "./ITokenMinter.sol";

/// @title ITokenBridge
/// @notice Moves the token between the primary chain and a secondary one, and activates from afar. A LayerZero OApp.
/// @dev Units: amounts are in token units (1e-6 dollar).
/// Messages: burned here first, minted or credited there after; each counts once, in any order. On the primary chain a
/// message is covered by its chain's line (see {ITokenMinter}); into a secondary chain at most {DAILY_MINT_CAP} is minted
/// a UTC day. What is not covered waits, and anyone may {deliver} it later.
/// Trust: libraries, verifiers, peers and gas are set at construction and peers never change. The timelock is owner and
/// delegate: it may replace libraries and verifiers at the endpoint, and remove a forged message. The guardian may pause
/// for at most 7 days at a time, more than the timelock's delay. Forged messages cost at most their chain's line, or a
/// day's cap.
interface ITokenBridge {
    /// @notice What a message does where it arrives.
    enum Kind {
        Transfer,
        Activation
    }

    /// @notice `amount` burned of `from`, to be minted or credited to `to`.
    struct Message {
        Kind kind;
        address from;
        address to;
        uint96 amount;
    }

    /// @notice The way to another chain and back.
    struct Pathway {
        /// @dev LayerZero's id of the other chain.
        uint32 eid;
        /// @dev The bridge there.
        address peer;
        /// @dev LayerZero's message libraries here.
        address sendLibrary;
        address receiveLibrary;
        address executor;
        uint32 maxMessageSize;
        /// @dev Blocks to wait here before a message is verified there, and the other way round. At least 1: LayerZero
        /// takes 0 for its default.
        uint64 sendConfirmations;
        uint64 receiveConfirmations;
        /// @dev The verifiers' contracts on this chain, ascending; all must verify, and they are at least two.
        address[] verifiers;
    }

    /// @notice All that a bridge is built of.
    struct Wiring {
        address endpoint;
        IInferenceToken token;
        /// @dev Minter and settlement of the primary chain; `address(0)` on a secondary one.
        ITokenMinter minter;
        IInferenceSettlement settlement;
        address timelock;
        address guardian;
        uint96 dailyMintCap;
        /// @dev Gas that an executor on the other side is paid to spend on a message.
        uint128 receiveGas;
        /// @dev On a secondary chain exactly one: to the primary.
        Pathway[] pathways;
    }

    /// @notice A message left: `message.amount` is burned here.
    event Sent(bytes32 indexed guid, uint32 indexed dstEid, Message message);

    /// @notice A message did what it says.
    event Delivered(bytes32 indexed guid, uint32 indexed srcEid, Message message);

    /// @notice A message arrived that is not covered yet. {deliver} needs what this event says.
    event Waiting(bytes32 indexed guid, uint32 indexed srcEid, Message message);

    /// @notice A waiting message was removed by the timelock.
    event Discarded(bytes32 indexed guid);

    /// @notice Nothing is sent or delivered before `until`.
    event PausedUntil(uint256 until);

    /// @notice The guardian changed.
    event GuardianChanged(address indexed previous, address indexed current);

    /// @notice The amount is zero.
    error ZeroAmount();

    /// @notice The zero address can neither hold tokens nor have credit.
    error ZeroAccount();

    /// @notice Activation from afar is for secondary chains; here the settlement does it.
    error AlreadyOnPrimary();

    /// @notice No day could ever mint so much on a secondary chain: send it in parts.
    error AboveDailyMintCap(uint256 amount, uint256 cap);

    /// @notice A pathway needs at least two verifiers.
    error TooFewVerifiers(uint32 eid);

    /// @notice A bridge has minter, settlement and its pathways (primary chain), or neither of the two and one pathway.
    error AmbiguousChain();

    /// @notice Peers never change.
    error PeersAreFixed();

    /// @notice The bridge is paused.
    error Paused(uint256 until);

    /// @notice A pause ends at the latest at `latest`.
    error PauseTooLong(uint256 latest);

    /// @notice The caller is not the guardian.
    error OnlyGuardian();

    /// @notice No such message waits.
    error NotWaiting(bytes32 guid);

    /// @notice The message must wait longer: for its chain's dollars, or for tomorrow's cap.
    error NotCovered(bytes32 guid);

    /// @notice The token that is moved.
    function TOKEN() external view returns (IInferenceToken);

    /// @notice The minter, which keeps the lines; `address(0)` off the primary chain.
    function MINTER() external view returns (ITokenMinter);

    /// @notice The settlement, which credits; `address(0)` off the primary chain.
    function SETTLEMENT() external view returns (IInferenceSettlement);

    /// @notice LayerZero's id of the primary chain; 0 on the primary chain itself.
    function PRIMARY_EID() external view returns (uint32);

    /// @notice What transfers may mint on a secondary chain in one UTC day. The same on all chains.
    function DAILY_MINT_CAP() external view returns (uint96);

    /// @notice How long a pause may last: 7 days.
    function MAX_PAUSE() external view returns (uint256);

    /// @notice Who may pause.
    function guardian() external view returns (address);

    /// @notice Until when the bridge is paused.
    function pausedUntil() external view returns (uint256);

    /// @notice What transfers have minted today. Secondary chains only.
    function mintedToday() external view returns (uint256);

    /// @notice What is kept of a waiting message: the hash of (srcEid, message), or 0.
    function waiting(bytes32 guid) external view returns (bytes32);

    /// @notice LayerZero's options of every message: the gas to spend on it.
    function options() external view returns (bytes memory);

    /// @notice What LayerZero takes to carry a message to `dstEid`, in the native coin. The same for every message.
    function quote(uint32 dstEid) external view returns (uint256 nativeFee);

    /// @notice Burns `amount` of the caller's tokens and mints them to `to` on another chain. Send {quote} along; what is
    /// over goes to `refund`.
    /// @dev Reverts with {ZeroAmount}, {ZeroAccount}, {Paused}, {AboveDailyMintCap}, LayerZero's `NoPeer` (secondary
    /// chains do not speak to each other) or `LZ_InsufficientFee`, or the token's `ERC20InsufficientBalance`.
    function bridge(uint32 dstEid, uint256 amount, address to, address refund) external payable returns (bytes32 guid);

    /// @notice Burns `amount` of the caller's tokens and raises the caller's one balance on the primary chain by them.
    function activateOnBase(uint256 amount) external payable returns (bytes32 guid);

    /// @notice As {activateOnBase}, with the credit to `account` and what is over of the fee to `refund`.
    /// @dev Secondary chains only. Reverts as {bridge}, or with {AlreadyOnPrimary}.
    function activateOnBase(uint256 amount, address account, address refund) external payable returns (bytes32 guid);

    /// @notice Does what a waiting message says, now that it is covered. Anyone may.
    /// @dev Reverts with {NotWaiting}, {NotCovered}, {Paused}.
    function deliver(bytes32 guid, uint32 srcEid, Message calldata message) external;

    /// @notice Removes a waiting message for ever: a forged one. By the timelock.
    /// @dev Reverts with {NotWaiting}, or `OwnableUnauthorizedAccount`.
    function discard(bytes32 guid) external;

    /// @notice Stops sending and delivering until `until`, at most {MAX_PAUSE} from now; a time that has passed ends the
    /// pause. Messages that arrive meanwhile stay with LayerZero, for anyone to deliver afterwards.
    /// @dev Reverts with {OnlyGuardian}, {PauseTooLong}.
    function pause(uint256 until) external;

    /// @notice Names the guardian. By the timelock.
    /// @dev Reverts with `OwnableUnauthorizedAccount`.
    function setGuardian(address newGuardian) external;
}
