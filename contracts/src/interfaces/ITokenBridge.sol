// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IInferenceSettlement} from "./IInferenceSettlement.sol";
import {IInferenceToken} from "./IInferenceToken.sol";
import {ITokenMinter} from "./ITokenMinter.sol";

/// @title ITokenBridge
/// @notice Moves the token between the primary chain and a secondary chain, and activates tokens from a secondary
/// chain. A LayerZero OApp.
/// @dev Units: amounts are in token units (1e-6 dollar).
/// @dev Messages: tokens are burned on the source chain, then minted or credited on the destination chain. Each message
/// takes effect once, in any order. On the primary chain a message must be covered by the line of its source chain (see
/// {ITokenMinter}). On a secondary chain transfers mint at most {DAILY_MINT_CAP} per UTC day. Tokens that leave the chain
/// on that day raise the limit by their amount. A message that is not covered waits, and anyone may {deliver} it later. While
/// activations from a chain wait, its later messages wait behind them, so that none takes the dollars of an earlier
/// activation.
/// Trust: libraries, verifiers, peers and gas are set at construction, and peers never change. The timelock is owner
/// and delegate: it may replace libraries and verifiers at the endpoint, and remove a forged message. The guardian may
/// pause for at most 7 days at a time, which is at least the timelock's delay. Forged messages to the primary chain
/// take at most the line of their source chain. Forged messages to a secondary chain add at most the daily mint cap to
/// its supply in a day. The part that returns to the primary chain draws on the line too.
interface ITokenBridge {
    /// @notice What a message does on the destination chain.
    enum Kind {
        Transfer,
        Activation
    }

    /// @notice `amount` was burned from `from`, to be minted or credited to `to`.
    struct Message {
        Kind kind;
        address from;
        address to;
        uint96 amount;
    }

    /// @notice A connection to another chain, in both directions.
    struct Pathway {
        /// @dev LayerZero endpoint id of the other chain.
        uint32 eid;
        /// @dev The bridge on the other chain.
        address peer;
        /// @dev LayerZero's message libraries on this chain.
        address sendLibrary;
        address receiveLibrary;
        address executor;
        uint32 maxMessageSize;
        /// @dev Block confirmations before a message from this chain, and one to this chain, is verified. At least 1,
        /// because LayerZero reads 0 as its default.
        uint64 sendConfirmations;
        uint64 receiveConfirmations;
        /// @dev The verifiers' contracts on this chain, in ascending order. There are at least two, and all must
        /// verify.
        address[] verifiers;
    }

    /// @notice The constructor arguments of the bridge.
    struct Wiring {
        address endpoint;
        IInferenceToken token;
        /// @dev The minter and the settlement on the primary chain; `address(0)` on a secondary chain.
        ITokenMinter minter;
        IInferenceSettlement settlement;
        address timelock;
        address guardian;
        uint96 dailyMintCap;
        /// @dev The gas that the executor on the destination chain supplies for a message.
        uint128 receiveGas;
        /// @dev On a secondary chain exactly one pathway: to the primary chain.
        Pathway[] pathways;
    }

    /// @notice A message was sent: `message.amount` was burned on this chain.
    event Sent(bytes32 indexed guid, uint32 indexed dstEid, Message message);

    /// @notice A message was delivered: its tokens were minted or credited.
    event Delivered(bytes32 indexed guid, uint32 indexed srcEid, Message message);

    /// @notice A message arrived that is not covered yet. {deliver} takes the arguments of this event.
    event Waiting(bytes32 indexed guid, uint32 indexed srcEid, Message message);

    /// @notice The timelock removed a waiting message.
    event Discarded(bytes32 indexed guid);

    /// @notice The bridge is paused: nothing is sent or delivered before `until`.
    event PausedUntil(uint256 until);

    /// @notice The guardian changed.
    event GuardianChanged(address indexed previous, address indexed current);

    /// @notice The amount is zero.
    error ZeroAmount();

    /// @notice The zero address cannot hold tokens or credit.
    error ZeroAccount();

    /// @notice Bridged activation is for secondary chains only. On the primary chain, call the settlement.
    error AlreadyOnPrimary();

    /// @notice The amount exceeds the daily mint cap of a secondary chain, so it could never be delivered. Split it.
    error AboveDailyMintCap(uint256 amount, uint256 cap);

    /// @notice A pathway needs at least two verifiers.
    error TooFewVerifiers(uint32 eid);

    /// @notice A pathway has no executor or no confirmations, which LayerZero reads as its defaults.
    error IncompletePathway(uint32 eid);

    /// @notice The wiring fits neither chain: a primary chain has minter, settlement and its pathways; a secondary
    /// chain has neither of the two and one pathway.
    error AmbiguousChain();

    /// @notice Peers never change.
    error PeersAreFixed();

    /// @notice The bridge is paused.
    error Paused(uint256 until);

    /// @notice A pause cannot end later than `latest`.
    error PauseTooLong(uint256 latest);

    /// @notice The caller is not the guardian.
    error OnlyGuardian();

    /// @notice No message with this id is waiting.
    error NotWaiting(bytes32 guid);

    /// @notice An activation from the same chain that arrived earlier still waits.
    error NotNext(bytes32 guid);

    /// @notice The message is still not covered: by the line of its source chain, or by today's mint cap.
    error NotCovered(bytes32 guid);

    /// @notice The token that is bridged.
    function TOKEN() external view returns (IInferenceToken);

    /// @notice The minter, which keeps the lines; `address(0)` off the primary chain.
    function MINTER() external view returns (ITokenMinter);

    /// @notice The settlement, which credits activations; `address(0)` off the primary chain.
    function SETTLEMENT() external view returns (IInferenceSettlement);

    /// @notice LayerZero endpoint id of the primary chain; 0 on the primary chain itself.
    function PRIMARY_EID() external view returns (uint32);

    /// @notice The maximum of {mintedToday}: the tokens that transfers may mint on a secondary chain in one UTC day, less
    /// the tokens that left on that day. The same on all chains.
    function DAILY_MINT_CAP() external view returns (uint96);

    /// @notice The maximum duration of a pause: 7 days.
    function MAX_PAUSE() external view returns (uint256);

    /// @notice The account that may pause.
    function guardian() external view returns (address);

    /// @notice The time at which the current or last pause ends.
    function pausedUntil() external view returns (uint256);

    /// @notice The amount that transfers have minted today, less what has left since, never below zero.
    /// Secondary chains only.
    function mintedToday() external view returns (uint256);

    /// @notice The stored hash of a waiting message, keccak256 of (srcEid, message); 0 if it is not waiting.
    function waiting(bytes32 guid) external view returns (bytes32);

    /// @notice The LayerZero options of every message: the gas for its delivery.
    function options() external view returns (bytes memory);

    /// @notice The native fee of LayerZero for a message to `dstEid`. The same for every message.
    function quote(uint32 dstEid) external view returns (uint256 nativeFee);

    /// @notice Burns `amount` of the caller's tokens and mints them to `to` on another chain. Attach the fee from
    /// {quote}; any excess is refunded to `refund`.
    /// @dev Reverts with {ZeroAmount}, {ZeroAccount}, {Paused} or {AboveDailyMintCap}; with LayerZero's `NoPeer`
    /// (secondary chains are not connected to each other) or `LZ_InsufficientFee`; or with the token's
    /// `ERC20InsufficientBalance`.
    function bridge(uint32 dstEid, uint256 amount, address to, address refund) external payable returns (bytes32 guid);

    /// @notice Burns `amount` of the caller's tokens and raises the caller's credit on the primary chain by the same
    /// amount.
    function activateOnBase(uint256 amount) external payable returns (bytes32 guid);

    /// @notice Same as {activateOnBase}, but credits `account` and refunds any excess fee to `refund`.
    /// @dev Secondary chains only. Reverts as {bridge} does, or with {AlreadyOnPrimary}.
    function activateOnBase(uint256 amount, address account, address refund) external payable returns (bytes32 guid);

    /// @notice Delivers a waiting message that is now covered. Anyone may call it.
    /// @dev Reverts with {NotWaiting}, {NotNext}, {NotCovered} or {Paused}.
    function deliver(bytes32 guid, uint32 srcEid, Message calldata message) external;

    /// @notice Removes a waiting message permanently. For forged messages. Only the timelock may call it. The
    /// tokens that an honest message burned are then lost to its recipient: their dollars stay in the line of its chain
    /// for the messages after it, and the operator can only make good with a gift ({IInferenceSettlement.activateFor}).
    /// @dev Reverts with {NotWaiting} or `OwnableUnauthorizedAccount`.
    function discard(bytes32 guid) external;

    /// @notice Stops sending and delivery until `until`, at most {MAX_PAUSE} from now. A time in the past ends the
    /// pause. Messages that arrive during a pause stay at the LayerZero endpoint, and anyone can deliver them
    /// afterwards.
    /// @dev Reverts with {OnlyGuardian} or {PauseTooLong}.
    function pause(uint256 until) external;

    /// @notice Appoints the guardian. Only the timelock may call it.
    /// @dev Reverts with `OwnableUnauthorizedAccount`.
    function setGuardian(address newGuardian) external;
}
