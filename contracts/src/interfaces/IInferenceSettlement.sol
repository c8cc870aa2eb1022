// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IAgentRegistry} from "./IAgentRegistry.sol";
import {IInferencePool} from "./IInferencePool.sol";
import {IInferenceToken} from "./IInferenceToken.sol";
import {ITokenMinter} from "./ITokenMinter.sol";

/// @title IInferenceSettlement
/// @notice Keeps the accounts of the primary chain: the credit of every account, and the daily ceiling on debits.
/// @dev Units: `amount` is in token units (1e-6 dollar). Everything named `NanoUsd`, and every credit, is in
/// nano-dollars (1e-9 dollar, token units x 1000), the unit in which the gateway charges. Multiplying by 1000 needs no
/// rounding.
/// Days are UTC, numbered by `block.timestamp / 1 days`.
/// Roles: the timelock raises the ceiling and appoints settler, provider and guardian. The settler posts batches. The
/// guardian lowers the ceiling and revokes the settler without delay. No role can take, move or block credit.
/// Trust: a stolen settler key can debit at most the ceiling of each day on which it is used and of the day before. It
/// cannot choose the payees, and every debit is public.
/// Payments: a batch records what is owed to each role. Anyone may trigger a payment, in whole token units. The payee
/// is read at the time of payment, so a payee that is blocked or replaced does not affect other payments.
/// Invariants (numbered as in the README of this package), after every transaction:
/// I1a backing = token supply + credit + owed + lines, in nano-dollars ({books}). I3 the credits and the amounts owed
/// each sum to their totals. I5 what is debited on a day never exceeds its ceiling at the time of each batch. I6 what
/// an agent serves on a day never exceeds its capacity of that day.
interface IInferenceSettlement {
    /// @notice The constructor arguments of the settlement.
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

    /// @notice What an account used through the protocol's account at the provider: the sum of such uses in the batch.
    struct Debit {
        address account;
        uint96 amountNanoUsd;
    }

    /// @notice What an account used through an agent's allowance of `day`: the sum of such uses in the batch. `day` is
    /// the day of the batch or one of the {MAX_SERVE_AGE_DAYS} days before it.
    struct Serve {
        address agent;
        address account;
        uint32 day;
        uint96 amountNanoUsd;
    }

    /// @notice Uses that are posted together.
    struct Batch {
        /// @dev The id of the last batch plus one.
        uint256 id;
        /// @dev The day whose ceiling applies: today, or yesterday until 06:00 UTC.
        uint256 day;
        /// @dev The Merkle root of the leaves of its uses ({leafOf}), never zero. As in OpenZeppelin's merkle-tree,
        /// pairs are sorted before hashing. The contract stores it and cannot compare it with the debits.
        bytes32 root;
        Debit[] debits;
        Serve[] serves;
    }

    /// @notice One settled request.
    struct Use {
        uint256 batch;
        address account;
        /// @dev The receipt's id in ASCII, padded with zeros on the right.
        bytes32 receipt;
        uint256 costNanoUsd;
        /// @dev The agent that served the use; `address(0)` if the protocol's account served it.
        address server;
        /// @dev The UTC day on which the request was admitted, which is the `day` of its {Serve}.
        uint256 dayServed;
        /// @dev The hash of the agent's offer; 0 if the protocol's account served the use.
        bytes32 offerHash;
    }

    /// @notice The roles to which dollars can be owed.
    enum Payee {
        Provider,
        Safe,
        Treasury
    }

    /// @notice The balance sheet, in nano-dollars: `backing` is the sum of the other fields.
    struct Books {
        uint256 backing;
        uint256 supply;
        uint256 credit;
        uint256 owed;
        uint256 lines;
    }

    /// @notice Credit was raised. The gateway reads activations from this event.
    /// @param id contiguous from 1, in order of activation: a reader that sees a gap or a repetition is faulty
    /// @param account the account that was credited
    /// @param from the owner of the burned tokens or of the dollars
    /// @param amount the activated amount, in token units
    /// @param totalActivated the sum of all activations including this one, in token units
    /// @param creditAfter the credit of `account` after this activation, in nano-dollars
    /// @param srcEid LayerZero endpoint id of the source chain; 0 for an activation on this chain
    /// @param guid id of the bridge message; 0 for an activation on this chain
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

    /// @notice A batch was settled.
    /// @param root the Merkle root of the uses
    /// @param amountNanoUsd the sum of the debits
    /// @param paidAfterNanoUsd the sum debited on `day`, including this batch
    /// @param totalDebitedNanoUsd the sum of all debits, including this batch
    event Settled(
        uint256 indexed id,
        uint256 indexed day,
        bytes32 root,
        uint256 amountNanoUsd,
        uint256 paidAfterNanoUsd,
        uint256 totalDebitedNanoUsd
    );

    /// @notice A batch lowered the credit of `account`, whether the protocol's account or an agent served.
    event Debited(uint256 indexed batch, address indexed account, uint256 amountNanoUsd, uint256 creditAfterNanoUsd);

    /// @notice `agent` served `amountNanoUsd` of a debit from its allowance of `day`, of which `servedAfterNanoUsd` is
    /// now used.
    event Served(
        uint256 indexed batch,
        address indexed account,
        address indexed agent,
        uint256 day,
        uint256 amountNanoUsd,
        uint256 servedAfterNanoUsd
    );

    /// @notice `amount` (token units) owed to `payee` was paid to `to`. `agent` is zero if the payee is the provider.
    event Paid(
        Payee indexed payee, address indexed agent, address indexed to, uint256 amount, uint256 owedAfterNanoUsd
    );

    /// @notice The ceiling changed, in nano-dollars a day.
    event CeilingChanged(uint256 beforeNanoUsd, uint256 afterNanoUsd);

    /// @notice The settler changed; `address(0)` means that there is none.
    event SettlerChanged(address indexed previous, address indexed current);

    /// @notice The guardian changed.
    event GuardianChanged(address indexed previous, address indexed current);

    /// @notice The address at which the provider is paid changed.
    event ProviderChanged(address indexed previous, address indexed current);

    /// @notice The amount is zero.
    error ZeroAmount();

    /// @notice The zero address cannot hold credit.
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

    /// @notice The new ceiling `asked` is not above `current`.
    error CeilingNotHigher(uint256 current, uint256 asked);

    /// @notice The new ceiling `asked` is not below `current`.
    error CeilingNotLower(uint256 current, uint256 asked);

    /// @notice The batch id is not `expected`, the next one.
    error WrongBatch(uint256 expected, uint256 got);

    /// @notice The Merkle root of the batch is zero.
    error NoRoot();

    /// @notice The batch does not have 1 to 200 entries.
    error WrongBatchSize(uint256 entries);

    /// @notice The batch has more than {MAX_BATCH_SERVES} serves.
    error TooManyServes(uint256 serves);

    /// @notice `day` is outside the period in which it can be settled. Of a serve: its `day` is after the day of its
    /// batch or more than {MAX_SERVE_AGE_DAYS} days before it, and `today` is then the day of the batch.
    error WrongDay(uint256 day, uint256 today);

    /// @notice The batch exceeds the `leftNanoUsd` that remain under the ceiling of `day`.
    error CeilingReached(uint256 day, uint256 askedNanoUsd, uint256 leftNanoUsd);

    /// @notice `account` has only `creditNanoUsd` of credit.
    error InsufficientCredit(address account, uint256 askedNanoUsd, uint256 creditNanoUsd);

    /// @notice The registry of this chain did not create `agent`.
    error NotAnAgent(address agent);

    /// @notice Only `leftNanoUsd` of the agent's allowance of `day` remain.
    error CapacityExceeded(address agent, uint256 day, uint256 askedNanoUsd, uint256 leftNanoUsd);

    /// @notice Less than one token unit is owed.
    error NothingOwed();

    /// @notice The token that accounts activate.
    function TOKEN() external view returns (IInferenceToken);

    /// @notice The minter, which holds the dollars that back all credit.
    function MINTER() external view returns (ITokenMinter);

    /// @notice The bridge, which delivers activations from other chains.
    function BRIDGE() external view returns (address);

    /// @notice The pool, which returns the capacity of an agent on a day.
    function POOL() external view returns (IInferencePool);

    /// @notice The registry, which identifies agents and their payees.
    function REGISTRY() external view returns (IAgentRegistry);

    /// @notice The timelock, which raises the ceiling and appoints settler, provider and guardian after its delay.
    function TIMELOCK() external view returns (address);

    /// @notice Nano-dollars per token unit.
    function NANO_USD_PER_TOKEN_UNIT() external view returns (uint256);

    /// @notice The initial ceiling: 50 dollars.
    function FIRST_CEILING_NANO_USD() external view returns (uint96);

    /// @notice The maximum number of entries in a batch: 200.
    function MAX_BATCH_ENTRIES() external view returns (uint256);

    /// @notice The maximum number of serves among them: 100. A batch of the most expensive serves then fits in a
    /// transaction, whose gas is limited to 2^24 (EIP-7825).
    function MAX_BATCH_SERVES() external view returns (uint256);

    /// @notice The maximum age of a serve: 3 days before the day of its batch. An older allowance has expired unpaid.
    function MAX_SERVE_AGE_DAYS() external view returns (uint256);

    /// @notice Seconds after the end of a day during which it can still be settled: until 06:00 UTC.
    function GRACE() external view returns (uint256);

    /// @notice The account that posts batches; `address(0)` if there is none.
    function settler() external view returns (address);

    /// @notice The account that may lower the ceiling and revoke the settler.
    function guardian() external view returns (address);

    /// @notice The address at which the provider is paid.
    function provider() external view returns (address);

    /// @notice The ceiling of today: the maximum that can be debited from all accounts together in one day.
    function ceilingNanoUsd() external view returns (uint96);

    /// @notice The ceiling of `day`: today's, or, until 06:00 UTC, the one with which yesterday ended; today's if it is
    /// lower, so that the guardian also stops yesterday.
    /// @dev Reverts with {WrongDay} for any other day.
    function ceilingOn(uint256 day) external view returns (uint256);

    /// @notice The amount debited on `day` so far, which counts against its ceiling. Payments to payees do not.
    function paidNanoUsd(uint256 day) external view returns (uint256);

    /// @notice The number of today, what can still be debited today (zero if the ceiling was lowered below the amount
    /// debited), and the time at which the next day begins.
    function ceilingToday() external view returns (uint256 day, uint256 leftNanoUsd, uint256 resetsAt);

    /// @notice The unspent credit of `account`.
    function creditNanoUsd(address account) external view returns (uint256);

    /// @notice The sum of all credits.
    function totalCreditNanoUsd() external view returns (uint256);

    /// @notice The number of activations, which is the id of the last one.
    function activationCount() external view returns (uint256);

    /// @notice The sum of all activations, in token units.
    function totalActivated() external view returns (uint256);

    /// @notice The number of batches, which is the id of the last one.
    function batchCount() external view returns (uint256);

    /// @notice The Merkle root of a batch; 0 if there is no such batch.
    function rootOf(uint256 batch) external view returns (bytes32);

    /// @notice The sum of all debits.
    function totalDebitedNanoUsd() external view returns (uint256);

    /// @notice The amount owed to the provider.
    function owedProviderNanoUsd() external view returns (uint256);

    /// @notice The amounts owed to an agent's Safe and treasury.
    function owedAgentNanoUsd(address agent) external view returns (uint128 safe, uint128 treasury);

    /// @notice The fraction of a token unit that is owed to `account` from its 10 % shares.
    function owedBackNanoUsd(address account) external view returns (uint256);

    /// @notice The sum of all amounts owed.
    function totalOwedNanoUsd() external view returns (uint256);

    /// @notice The amount that `agent` has served from its allowance of `day`.
    function servedNanoUsd(address agent, uint256 day) external view returns (uint256);

    /// @notice The balance sheet of the primary chain, for invariant I1a.
    function books() external view returns (Books memory);

    /// @notice Whether `use` is in its batch: whether `proof`, as OpenZeppelin's merkle-tree makes it, leads from the
    /// use's leaf to the stored root of the batch. False for an unknown batch.
    function verify(Use calldata use, bytes32[] calldata proof) external view returns (bool);

    /// @notice The leaf of a use in the Merkle tree of its batch:
    /// keccak256(keccak256(abi.encode(chainId, settlement, batch, account, receipt, costNanoUsd, server, dayServed,
    /// offerHash))). The double hash prevents an inner node from passing as a leaf.
    function leafOf(Use calldata use) external view returns (bytes32);

    /// @notice Burns `amount` of the caller's tokens and credits the caller. Irreversible.
    /// @dev Needs no allowance. Reverts with {ZeroAmount} or the token's `ERC20InsufficientBalance`. Emits {Activated}.
    function activate(uint256 amount) external;

    /// @notice Same as {activate}, but credits `account`. This is a gift: the caller keeps no claim.
    /// @dev Also reverts with {ZeroAccount}.
    function activateFor(uint256 amount, address account) external;

    /// @notice Credits `amount` dollars, paid by `from`, to `account`. Called by the minter.
    /// @dev Trust: the minter has booked the same amount of dollars and has minted no token for them. Reverts with
    /// {OnlyMinter}, {ZeroAmount} or {ZeroAccount}. Emits {Activated}.
    function activateMinted(uint256 amount, address account, address from) external;

    /// @notice Credits `amount` dollars to `account` for tokens of `from` that were burned on the chain `srcEid`.
    /// Called by the bridge.
    /// @dev Trust: the bridge has drawn the same amount from the line of that chain. Reverts with {OnlyBridge},
    /// {ZeroAmount} or {ZeroAccount}. Emits {Activated}.
    function activateBridged(uint256 amount, address account, address from, uint32 srcEid, bytes32 guid) external;

    /// @notice Debits the accounts of a batch, atomically. Uses served by the protocol's account are owed to the
    /// provider. Uses served by an agent are split: 40 % is owed to its Safe, 10 % is minted back to the account in
    /// whole token units (the remainder stays owed until its next use), and the rest is owed to its treasury.
    /// The offer that an agent's computer signed is checked by the gateway and not here: a computer may be removed
    /// before its uses are posted. Each leaf has the hash of the offer.
    /// @dev Reverts with {OnlySettler}, {WrongBatch}, {WrongBatchSize}, {TooManyServes}, {NoRoot}, {WrongDay},
    /// {CeilingReached}, {InsufficientCredit}, {NotAnAgent} or {CapacityExceeded}. Emits {Debited} for each entry,
    /// {Served} for each serve, and {Settled}.
    function settle(Batch calldata batch) external;

    /// @notice Pays the provider what it is owed, in whole token units. Anyone may call this function and the next two.
    /// @dev Reverts with {NothingOwed} or with an error of the stablecoin. Emits {Paid}.
    function payProvider() external;

    /// @notice Pays an agent's Safe what it is owed.
    function paySafe(address agent) external;

    /// @notice Pays an agent's treasury what it is owed.
    function payTreasury(address agent) external;

    /// @notice Raises the ceiling from today on. The delay is enforced by the timelock.
    /// @dev Reverts with {OnlyTimelock} or {CeilingNotHigher}.
    function raiseCeiling(uint96 toNanoUsd) external;

    /// @notice Lowers the ceiling with immediate effect, also that of yesterday, to zero if needed. Earlier debits are
    /// unaffected.
    /// @dev Reverts with {OnlyGuardian} or {CeilingNotLower}.
    function lowerCeiling(uint96 toNanoUsd) external;

    /// @notice Stops settlement immediately: no batch can be posted until the timelock appoints a new settler.
    /// @dev Reverts with {OnlyGuardian}.
    function revokeSettler() external;

    /// @notice Appoints the settler.
    /// @dev Reverts with {OnlyTimelock}.
    function setSettler(address newSettler) external;

    /// @notice Appoints the guardian, so that a lost or hostile guardian can be replaced.
    /// @dev Reverts with {OnlyTimelock}.
    function setGuardian(address newGuardian) external;

    /// @notice Sets the address at which the provider is paid.
    /// @dev Reverts with {OnlyTimelock}.
    function setProvider(address newProvider) external;
}
