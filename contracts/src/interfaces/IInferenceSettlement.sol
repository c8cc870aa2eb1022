// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IAgentRegistry} from "./IAgentRegistry.sol";
import {IInferencePool} from "./IInferencePool.sol";
import {IInferenceToken} from "./IInferenceToken.sol";
import {ITokenMinter} from "./ITokenMinter.sol";

/// @title IInferenceSettlement
/// @notice Keeps the accounts of the primary chain: the activations and debits of each account, the daily ceiling on
/// debits, and the amounts owed for them.
/// @dev Units: `amount` is in token units (1e-6 dollar). Everything named `NanoUsd` is in nano-dollars (1e-9 dollar,
/// token units x 1000), the unit in which the gateway charges. Multiplying by 1000 needs no rounding.
/// Days are UTC, numbered by `block.timestamp / 1 days`.
/// Totals: an account has one total of activations and one of debits, and neither ever falls. A record debits an
/// account from a total that it names, so a record that is repeated, late or out of order moves nothing.
/// Roles: the timelock raises the ceiling, appoints settler, provider and guardian, and sets the receipt key. The
/// settler posts chunks. The guardian lowers the ceiling and revokes the settler without delay. No role can take, move
/// or block credit alone. Timelock and settler together can debit any credit, up to the ceiling that the timelock sets.
/// Trust: a stolen settler key can debit at most the ceiling of each day on which it is used and of the day before. It
/// cannot choose the provider. It can name an agent of its own, whose Safe then gets 40 % of the debits that the
/// agent's capacity covers, and it can make honest records miss, until the guardian revokes it. Every debit is public.
/// Payments: a chunk records what is owed to each role. Anyone may trigger a payment, in whole token units. The payee
/// is read at the time of payment, so a payee that is blocked or replaced does not affect other payments.
/// Invariants (numbered as in the README of this package), after every transaction:
/// I1a backing = token supply + credit + owed + lines, in nano-dollars ({books}). I3 the totals of the accounts sum to
/// the totals of activations and debits, and owed = debited - paid. I5 what is debited on a day never exceeds its
/// ceiling at the time of each chunk. I6 what an agent serves on a day never exceeds its capacity of that day. I9 a
/// record counts once, however often it is posted.
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
        bytes32 receiptKey;
    }

    /// @notice A debit as booked, as {Settled} shows it.
    struct Record {
        address account;
        /// @dev The account's total of debits before this record.
        uint64 beforeNanoUsd;
        /// @dev What was debited. Below what the settler asked for if the account's credit or the day's ceiling ended.
        uint64 amountNanoUsd;
        /// @dev The Merkle root of the statement: of the leaves of its uses ({leafOf}), in order.
        bytes32 root;
        /// @dev What agents served of it. The rest is owed to the provider.
        Part[] parts;
    }

    /// @notice What an agent served of a record from its capacity of `day`.
    struct Part {
        address agent;
        uint16 day;
        uint64 amountNanoUsd;
    }

    /// @notice One settled request.
    struct Use {
        address account;
        /// @dev The receipt's id in ASCII, padded with zeros on the right.
        bytes32 receipt;
        /// @dev The account's total of debits after this use.
        uint256 endsAtNanoUsd;
        uint256 costNanoUsd;
        /// @dev What the statement charges of the cost: the stretch of the account's total that ends at
        /// `endsAtNanoUsd`.
        uint256 chargedNanoUsd;
        /// @dev The UTC day on which the request was admitted.
        uint256 dayServed;
        /// @dev The agent that served the use; `address(0)` if the protocol's account served it.
        address server;
        /// @dev The hash of the agent's offer; 0 if the protocol's account served the use.
        bytes32 offerHash;
        /// @dev The id of the price snapshot, padded with zeros on the right.
        bytes32 snapshot;
    }

    /// @notice The roles that dollars can be owed to.
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
    /// @param accountActivatedNanoUsd the sum of all activations of `account` including this one, in nano-dollars
    /// @param srcEid LayerZero endpoint id of the source chain; 0 for an activation on this chain
    /// @param guid id of the bridge message; 0 for an activation on this chain
    event Activated(
        uint256 indexed id,
        address indexed account,
        address indexed from,
        uint256 amount,
        uint256 totalActivated,
        uint256 accountActivatedNanoUsd,
        uint32 srcEid,
        bytes32 guid
    );

    /// @notice A chunk debited accounts. A chunk that debits none emits nothing.
    /// @param root the Merkle root of the booked records, a leaf each:
    /// keccak256(account, before, amount, root, number of parts, and of each part: agent, day, amount), packed as in
    /// {settle}. A leaf's preimage has at least 69 bytes, so that no inner node passes for a leaf.
    /// @param amountNanoUsd the sum of the debits
    /// @param paidAfterNanoUsd the sum debited on `day`, including this chunk
    /// @param totalDebitedNanoUsd the sum of all debits, including this chunk
    /// @param data the booked records, in the layout of {settle} with the same table of agents
    event Settled(
        uint32 indexed day,
        bytes32 indexed root,
        uint256 amountNanoUsd,
        uint256 paidAfterNanoUsd,
        uint256 totalDebitedNanoUsd,
        bytes data
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

    /// @notice The key that signs receipts changed.
    event ReceiptKeyChanged(bytes32 previous, bytes32 current);

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

    /// @notice `day` is neither today nor, until 06:00 UTC, yesterday; or an agent's `day` is after today.
    error WrongDay(uint256 day, uint256 today);

    /// @notice The data of a chunk is not in the layout of {settle}: the entry at byte `position` of the call data is cut
    /// short, is out of order, or names an agent that is not in the table.
    error MalformedData(uint256 position);

    /// @notice With the part at byte `position` of the call data, the parts of a record exceed its amount.
    error PartsAboveAmount(uint256 position);

    /// @notice Nothing is left under the ceiling of `day`.
    error CeilingReached(uint256 day);

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

    /// @notice The timelock, which raises the ceiling, appoints the roles and sets the receipt key after its delay.
    function TIMELOCK() external view returns (address);

    /// @notice Nano-dollars per token unit.
    function NANO_USD_PER_TOKEN_UNIT() external view returns (uint256);

    /// @notice The initial ceiling: 50 dollars.
    function FIRST_CEILING_NANO_USD() external view returns (uint96);

    /// @notice Seconds after the end of a day during which it can still be settled: until 06:00 UTC.
    function GRACE() external view returns (uint256);

    /// @notice The account that posts chunks; `address(0)` if there is none.
    function settler() external view returns (address);

    /// @notice The account that may lower the ceiling and revoke the settler.
    function guardian() external view returns (address);

    /// @notice The address at which the provider is paid.
    function provider() external view returns (address);

    /// @notice The public key (Ed25519) with which the gateway signs receipts.
    function receiptKey() external view returns (bytes32);

    /// @notice The ceiling of today: the maximum that can be debited from all accounts together in one day.
    function ceilingNanoUsd() external view returns (uint96);

    /// @notice The ceiling of `day`: today's, or, until 06:00 UTC, the one with which yesterday ended; today's if it is
    /// lower, so that the guardian also stops yesterday.
    /// @dev Reverts with {WrongDay} for any other day.
    function ceilingOn(uint256 day) external view returns (uint256);

    /// @notice The amount debited on `day` so far, which counts against its ceiling. Payments to payees do not.
    function paidNanoUsd(uint256 day) external view returns (uint256);

    /// @notice The number of today, the amount that can still be debited today (zero if the ceiling was lowered below the
    /// amount debited), and the time at which the next day begins.
    function ceilingToday() external view returns (uint256 day, uint256 leftNanoUsd, uint256 resetsAt);

    /// @notice The totals of `account`: its activations, its debits, and the part of the debits that agents served.
    function accountOf(address account)
        external
        view
        returns (uint80 activatedNanoUsd, uint80 debitedNanoUsd, uint80 servedNanoUsd);

    /// @notice The unspent credit of `account`: activations less debits.
    function creditNanoUsd(address account) external view returns (uint256);

    /// @notice The sum of all credits.
    function totalCreditNanoUsd() external view returns (uint256);

    /// @notice The number of activations, which is the id of the last one.
    function activationCount() external view returns (uint64);

    /// @notice The sum of all activations, in token units.
    function totalActivated() external view returns (uint96);

    /// @notice The block of the chunk with this root, in which its {Settled} is found; 0 if there is no such chunk.
    function blockOf(bytes32 root) external view returns (uint256);

    /// @notice The sum of all debits.
    function totalDebitedNanoUsd() external view returns (uint96);

    /// @notice The amount owed to the provider.
    function owedProviderNanoUsd() external view returns (uint128);

    /// @notice The amounts owed to an agent's Safe and treasury: 40 % and 50 % of its served total, each rounded down,
    /// less earlier payments.
    function owedAgentNanoUsd(address agent) external view returns (uint256 safe, uint256 treasury);

    /// @notice The amount owed back to `account`: 10 % of the total that agents served it, rounded down, less the
    /// amount minted before.
    function owedBackNanoUsd(address account) external view returns (uint256);

    /// @notice The sum of all amounts owed: debits less payments. It includes the fractions that rounding keeps from
    /// agents and accounts.
    function totalOwedNanoUsd() external view returns (uint256);

    /// @notice The amount that `agent` has served from its capacity of `day`.
    function servedNanoUsd(address agent, uint256 day) external view returns (uint256);

    /// @notice The balance sheet of the primary chain, for invariant I1a.
    function books() external view returns (Books memory);

    /// @notice Whether `record` was booked and debited `use` or a part of it: `useProof` leads from the use's leaf to
    /// the root of the record, `recordProof` from the record's leaf to the root of a chunk, both belong to one account,
    /// and the charge of the use lies within the record, in whole or in part.
    /// @dev Proofs are as for OpenZeppelin's MerkleProof. The trees pair their leaves in order, and an odd last node
    /// moves up unchanged.
    function verify(
        Use calldata use,
        bytes32[] calldata useProof,
        Record calldata record,
        bytes32[] calldata recordProof
    ) external view returns (bool);

    /// @notice The leaf of a use in the Merkle tree of its statement:
    /// keccak256(keccak256(abi.encode(chainId, settlement, account, receipt, endsAtNanoUsd, costNanoUsd,
    /// chargedNanoUsd, dayServed, server, offerHash, snapshot))). The double hash prevents an inner node from passing
    /// as a leaf.
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

    /// @notice Debits accounts under the ceiling of `day`: today, or yesterday until 06:00 UTC.
    /// @param data packed, integers big-endian: the number of agents (1 byte); for each agent its address (20) and the
    /// day on which it served (2), in ascending order of these 22 bytes; then records to the end, each of an account
    /// (20), the total of debits from which it starts (8), an amount (8), the root of its uses (32), the number of its
    /// parts (1), and for each part the index of an agent (1) and an amount (8).
    /// @dev A record is skipped unless it starts at the account's total of debits. Otherwise it debits its
    /// amount, limited by the account's credit and the ceiling left of the day. A debit of nothing is skipped too. Parts
    /// are paid out of the debit in order. An agent serves at most its capacity of its day (none if the registry does
    /// not know it). The provider is owed the excess and the amount that no part covers. A skipped record leaves no
    /// trace, but must be well-formed.
    /// An agent's Safe is owed 40 % of what it serves and its treasury 50 %; a tenth is owed back to the account.
    /// The offer that an agent's computer signed is checked by the gateway and not here: a computer may be removed
    /// before its uses are posted. Each leaf has the hash of the offer.
    /// Reverts with {OnlySettler}, {WrongDay}, {MalformedData}, {PartsAboveAmount}, or {CeilingReached} if there are
    /// records and the ceiling leaves nothing. Emits {Settled} if anything was debited.
    function settle(uint32 day, bytes calldata data) external;

    /// @notice Pays the provider what it is owed, in whole token units. Anyone may call this function and the next
    /// three.
    /// @dev Reverts with {NothingOwed} or with an error of the stablecoin. Emits {Paid}.
    function payProvider() external;

    /// @notice Pays an agent's Safe what it is owed.
    function paySafe(address agent) external;

    /// @notice Pays an agent's treasury what it is owed.
    function payTreasury(address agent) external;

    /// @notice Mints to `account` what it is owed back, as tokens. Their dollars stay in the backing.
    /// @dev Reverts with {NothingOwed}. The minter emits {ITokenMinter.MintedBack}.
    function payBack(address account) external;

    /// @notice Raises the ceiling from today on. The delay is enforced by the timelock.
    /// @dev Reverts with {OnlyTimelock} or {CeilingNotHigher}.
    function raiseCeiling(uint96 toNanoUsd) external;

    /// @notice Lowers the ceiling with immediate effect, also that of yesterday, to zero if needed. Earlier debits are
    /// unaffected.
    /// @dev Reverts with {OnlyGuardian} or {CeilingNotLower}.
    function lowerCeiling(uint96 toNanoUsd) external;

    /// @notice Stops settlement immediately: no chunk can be posted until the timelock appoints a new settler.
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

    /// @notice Sets the public key with which the gateway signs receipts.
    /// @dev Reverts with {OnlyTimelock}. Earlier keys are found in {ReceiptKeyChanged}.
    function setReceiptKey(bytes32 newReceiptKey) external;
}
