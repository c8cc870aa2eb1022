// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IAgentRegistry} from "./IAgentRegistry.sol";
import {IInferencePool} from "./IInferencePool.sol";
import {IInferenceToken} from "./IInferenceToken.sol";
import {ITokenMinter} from "./ITokenMinter.sol";

/// @title IInferenceSettlement
/// @notice The books of the primary chain: what every account may still spend, and how much a day may pay.
/// @dev Units: `amount` is in token units (1e-6 dollar); everything named `NanoUsd`, and every credit, is in nano-dollars
/// (1e-9 dollar, token units x 1000), exactly as the gateway charges. Multiplying by 1000 rounds nothing.
/// Days are UTC, numbered by `block.timestamp / 1 days`.
/// Roles: the timelock raises the ceiling and names settler, provider and guardian; the settler posts batches; the
/// guardian, at once, lowers the ceiling and revokes the settler; nobody can take, move or block a credit.
/// Trust: a stolen settler key can debit at most the ceiling of each day it touches and of the day before, cannot choose
/// who is paid, and every debit is public.
/// Paying: what a batch debits is owed by role. Anyone may have it paid, in whole token units; the payee is looked up at
/// that moment, so one that is blocked or replaced blocks nobody.
/// Invariants (numbered as in the README of this package), after every transaction:
/// I1a backing = token supply + credit + owed + lines, in nano-dollars ({books}). I3 the credits, and what is owed, sum to
/// their totals. I5 what a day paid never exceeds the ceiling at the moment of each batch. I6 what an agent served on a
/// day never exceeds its capacity of that day.
interface IInferenceSettlement {
    /// @notice All that a settlement is built of.
    struct Wiring {
        IInferenceToken token;
        ITokenMinter minter;
        address bridge;
        IInferencePool pool;
        IAgentRegistry registry;
        address timelock;
        address guardian;
        address settler;
        address provider;
    }

    /// @notice What an account used through the protocol's account at the provider, all its uses of a batch together.
    struct Debit {
        address account;
        uint96 amountNanoUsd;
    }

    /// @notice What an account used through an agent's allowance of `day`, all such uses of a batch together.
    struct Serve {
        address agent;
        address account;
        uint32 day;
        uint96 amountNanoUsd;
    }

    /// @notice Uses, posted together.
    struct Batch {
        /// @dev One more than the last.
        uint256 id;
        /// @dev Whose ceiling pays: today, or yesterday until 06:00 UTC.
        uint256 day;
        /// @dev The Merkle root of its uses' leaves ({leafOf}), OpenZeppelin's tree: pairs are sorted before hashing.
        bytes32 root;
        Debit[] debits;
        Serve[] serves;
    }

    /// @notice One settled request.
    struct Use {
        uint256 batch;
        address account;
        /// @dev The receipt's id in ASCII, filled with zeros on the right.
        bytes32 receipt;
        uint256 costNanoUsd;
        /// @dev The agent that served it; `address(0)` if the protocol's account did.
        address server;
        uint256 dayServed;
        /// @dev The hash of the agent's offer; 0 if the protocol's account served.
        bytes32 offerHash;
    }

    /// @notice To whom dollars can be owed.
    enum Payee {
        Provider,
        Safe,
        Treasury
    }

    /// @notice The books, in nano-dollars: `backing` is the sum of the others.
    struct Books {
        uint256 backing;
        uint256 supply;
        uint256 credit;
        uint256 owed;
        uint256 lines;
    }

    /// @notice Credit was raised. This is the instrument by which the gateway knows it.
    /// @param id contiguous from 1, in order of arrival: a gap or a repetition proves a wrong reader
    /// @param account whose credit it is
    /// @param from whose tokens or dollars it was
    /// @param amount what was activated, in token units
    /// @param totalActivated all that was ever activated, this included, in token units
    /// @param creditAfter the credit of `account` after it, in nano-dollars
    /// @param srcEid the LayerZero endpoint id of the chain it came from; 0 if it happened on this chain
    /// @param guid the message that brought it; 0 if it happened on this chain
    event Activated(
        uint256 indexed id,
        address indexed account,
        address indexed from,
        uint256 amount,
        uint256 totalActivated,
        uint256 creditAfter,
        uint32 srcEid,
        bytes32 guid
    );

    /// @notice A batch counted.
    /// @param root the Merkle root of its uses
    /// @param amountNanoUsd what it debited
    /// @param paidAfterNanoUsd what its day has paid, this batch included
    /// @param totalDebitedNanoUsd all that was ever debited, this batch included
    event Settled(
        uint256 indexed id,
        uint256 indexed day,
        bytes32 root,
        uint256 amountNanoUsd,
        uint256 paidAfterNanoUsd,
        uint256 totalDebitedNanoUsd
    );

    /// @notice Credit was lowered by a batch, whoever served.
    event Debited(uint256 indexed batch, address indexed account, uint256 amountNanoUsd, uint256 creditAfterNanoUsd);

    /// @notice Of a debit, `agent` served `amountNanoUsd` from its allowance of `day`, of which `servedAfterNanoUsd` is
    /// used now.
    event Served(
        uint256 indexed batch,
        address indexed account,
        address indexed agent,
        uint256 day,
        uint256 amountNanoUsd,
        uint256 servedAfterNanoUsd
    );

    /// @notice `amount` (token units) of what was owed to `payee` (of `agent`, unless the provider) went to `to`.
    event Paid(
        Payee indexed payee, address indexed agent, address indexed to, uint256 amount, uint256 owedAfterNanoUsd
    );

    /// @notice The ceiling changed, in nano-dollars a day.
    event CeilingChanged(uint256 beforeNanoUsd, uint256 afterNanoUsd);

    /// @notice The settler changed; `address(0)` is nobody.
    event SettlerChanged(address indexed previous, address indexed current);

    /// @notice The guardian changed.
    event GuardianChanged(address indexed previous, address indexed current);

    /// @notice Where the provider is paid changed.
    event ProviderChanged(address indexed previous, address indexed current);

    /// @notice The amount is zero.
    error ZeroAmount();

    /// @notice Credit cannot belong to the zero address.
    error ZeroAccount();

    /// @notice The caller is not the minter.
    error OnlyMinter();

    /// @notice The caller is not the bridge.
    error OnlyBridge();

    /// @notice The caller is not the settler.
    error OnlySettler();

    /// @notice The caller is not the timelock.
    error OnlyTimelock();

    /// @notice The caller is not the guardian.
    error OnlyGuardian();

    /// @notice Raising must raise: `asked` is not above `current`.
    error CeilingNotHigher(uint256 current, uint256 asked);

    /// @notice Lowering must lower: `asked` is not below `current`.
    error CeilingNotLower(uint256 current, uint256 asked);

    /// @notice The next batch is `expected`.
    error WrongBatch(uint256 expected, uint256 got);

    /// @notice A batch has 1 to 200 entries.
    error WrongBatchSize(uint256 entries);

    /// @notice `day` cannot pay now, or is after the day that pays.
    error WrongDay(uint256 day, uint256 today);

    /// @notice `day` has only `leftNanoUsd` left under its ceiling.
    error CeilingReached(uint256 day, uint256 askedNanoUsd, uint256 leftNanoUsd);

    /// @notice `account` has only `creditNanoUsd`.
    error InsufficientCredit(address account, uint256 askedNanoUsd, uint256 creditNanoUsd);

    /// @notice No agent was born here with this token.
    error NotAnAgent(address agent);

    /// @notice Of the agent's allowance of `day` only `leftNanoUsd` is left.
    error CapacityExceeded(address agent, uint256 day, uint256 askedNanoUsd, uint256 leftNanoUsd);

    /// @notice Less than a token unit is owed.
    error NothingOwed();

    /// @notice The token that is activated here.
    function TOKEN() external view returns (IInferenceToken);

    /// @notice The minter that holds the dollars behind every credit.
    function MINTER() external view returns (ITokenMinter);

    /// @notice The bridge, which brings activations from other chains.
    function BRIDGE() external view returns (address);

    /// @notice Says what an agent could serve on a day.
    function POOL() external view returns (IInferencePool);

    /// @notice Says who is an agent, and who is paid for it.
    function REGISTRY() external view returns (IAgentRegistry);

    /// @notice Who raises the ceiling and names settler, provider and guardian, after its delay.
    function TIMELOCK() external view returns (address);

    /// @notice Nano-dollars in one token unit.
    function NANO_USD_PER_TOKEN_UNIT() external view returns (uint256);

    /// @notice The ceiling of the first day: 50 dollars.
    function FIRST_CEILING_NANO_USD() external view returns (uint96);

    /// @notice The most entries a batch may have: 200.
    function MAX_BATCH_ENTRIES() external view returns (uint256);

    /// @notice For how many seconds after its end a day may still pay: until 06:00 UTC.
    function GRACE() external view returns (uint256);

    /// @notice Who posts batches of uses; `address(0)` while nobody may.
    function settler() external view returns (address);

    /// @notice Who lowers the ceiling and revokes the settler.
    function guardian() external view returns (address);

    /// @notice Where the provider is paid.
    function provider() external view returns (address);

    /// @notice What all accounts together may be debited a day.
    function ceilingNanoUsd() external view returns (uint96);

    /// @notice What `day` has paid so far.
    function paidNanoUsd(uint256 day) external view returns (uint256);

    /// @notice Today, what is left of its ceiling (zero if it was lowered below what is paid), and when tomorrow begins.
    function ceilingToday() external view returns (uint256 day, uint256 leftNanoUsd, uint256 resetsAt);

    /// @notice What `account` may still spend.
    function creditNanoUsd(address account) external view returns (uint256);

    /// @notice The sum of all credits.
    function totalCreditNanoUsd() external view returns (uint256);

    /// @notice How many activations there were: the id of the last one.
    function activationCount() external view returns (uint256);

    /// @notice All that was ever activated, in token units.
    function totalActivated() external view returns (uint256);

    /// @notice How many batches there were: the id of the last one.
    function batchCount() external view returns (uint256);

    /// @notice All that was ever debited.
    function totalDebitedNanoUsd() external view returns (uint256);

    /// @notice What is owed to the provider.
    function owedProviderNanoUsd() external view returns (uint256);

    /// @notice What is owed to an agent's Safe and treasury.
    function owedAgentNanoUsd(address agent) external view returns (uint128 safe, uint128 treasury);

    /// @notice The part of a token unit that a requester is still owed of the tenths that came back.
    function owedBackNanoUsd(address account) external view returns (uint256);

    /// @notice The sum of all that is owed.
    function totalOwedNanoUsd() external view returns (uint256);

    /// @notice What `agent` has served of its allowance of `day`.
    function servedNanoUsd(address agent, uint256 day) external view returns (uint256);

    /// @notice The books of the primary chain, for invariant I1a.
    function books() external view returns (Books memory);

    /// @notice The leaf of a use in its batch's tree:
    /// keccak256(keccak256(abi.encode(chainId, settlement, batch, account, receipt, costNanoUsd, server, dayServed,
    /// offerHash))). Hashed twice, so that no inner node can pass for a leaf.
    function leafOf(Use calldata use) external view returns (bytes32);

    /// @notice Burns `amount` of the caller's tokens and credits their dollars to the caller, for ever.
    /// @dev Needs no allowance. Reverts with {ZeroAmount}, or the token's `ERC20InsufficientBalance`. Emits {Activated}.
    function activate(uint256 amount) external;

    /// @notice As {activate}, with the credit to `account`. A gift: the caller keeps no claim.
    /// @dev Reverts also with {ZeroAccount}.
    function activateFor(uint256 amount, address account) external;

    /// @notice Credits `amount` dollars of `from` to `account`. Called by the minter.
    /// @dev Trust: the minter has booked as many dollars and minted no token for them. Reverts with {OnlyMinter},
    /// {ZeroAmount}, {ZeroAccount}. Emits {Activated}.
    function activateMinted(uint256 amount, address account, address from) external;

    /// @notice Credits `amount` dollars to `account` for tokens of `from` that were burned on the chain `srcEid`.
    /// @dev Trust: the bridge has drawn as much from that chain's line. Reverts with {OnlyBridge}, {ZeroAmount},
    /// {ZeroAccount}. Emits {Activated}.
    function activateBridged(uint256 amount, address account, address from, uint32 srcEid, bytes32 guid) external;

    /// @notice Debits the accounts of a batch, whole or not at all. What the protocol's account served is owed to the
    /// provider. What an agent served is split: 40 % are owed to its Safe, 10 % minted back to the account in whole token
    /// units (the rest of a unit is kept for its next time), and all that remains is owed to its treasury.
    /// @dev Reverts with {OnlySettler}, {WrongBatch}, {WrongBatchSize}, {WrongDay}, {CeilingReached},
    /// {InsufficientCredit}, {NotAnAgent}, {CapacityExceeded}. Emits {Debited} for each entry, {Served} for each serve, and
    /// {Settled}.
    function settle(Batch calldata batch) external;

    /// @notice Pays the provider what it is owed, in whole token units. Anyone may call this and the next two.
    /// @dev Reverts with {NothingOwed}, or as the stablecoin does. Emits {Paid}.
    function payProvider() external;

    /// @notice Pays an agent's Safe what it is owed.
    function paySafe(address agent) external;

    /// @notice Pays an agent's treasury what it is owed.
    function payTreasury(address agent) external;

    /// @notice Raises the ceiling, at once: the delay is the timelock's.
    /// @dev Reverts with {OnlyTimelock}, {CeilingNotHigher}.
    function raiseCeiling(uint96 toNanoUsd) external;

    /// @notice Lowers the ceiling at once, to zero if need be. What is paid stays paid.
    /// @dev Reverts with {OnlyGuardian}, {CeilingNotLower}.
    function lowerCeiling(uint96 toNanoUsd) external;

    /// @notice Stops settlement at once: nobody may post a batch until the timelock names a settler again.
    /// @dev Reverts with {OnlyGuardian}.
    function revokeSettler() external;

    /// @notice Names the settler.
    /// @dev Reverts with {OnlyTimelock}.
    function setSettler(address newSettler) external;

    /// @notice Names the guardian, so that a lost or hostile one does not stay.
    /// @dev Reverts with {OnlyTimelock}.
    function setGuardian(address newGuardian) external;

    /// @notice Names where the provider is paid.
    /// @dev Reverts with {OnlyTimelock}.
    function setProvider(address newProvider) external;
}
