// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IInferenceToken} from "./IInferenceToken.sol";
import {ITokenMinter} from "./ITokenMinter.sol";

/// @title IInferenceSettlement
/// @notice The books of the primary chain: what every account may still spend, and how much a day may pay.
/// @dev Units: `amount` is in token units (1e-6 dollar); everything named `NanoUsd`, and every credit, is in nano-dollars
/// (1e-9 dollar, token units x 1000), exactly as the gateway charges. Multiplying by 1000 rounds nothing.
/// Days are UTC, numbered by `block.timestamp / 1 days`.
/// Roles: the timelock raises the ceiling and names settler and guardian; the guardian, at once, lowers the ceiling and
/// revokes the settler; nobody can take, move or block a credit.
/// Invariants (numbered as in the README of this package), after every transaction:
/// I1a backing x 1000 = token supply x 1000 + total credit. I3 the credits sum to their total.
interface IInferenceSettlement {
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

    /// @notice The ceiling changed, in nano-dollars a day.
    event CeilingChanged(uint256 beforeNanoUsd, uint256 afterNanoUsd);

    /// @notice The settler changed; `address(0)` is nobody.
    event SettlerChanged(address indexed previous, address indexed current);

    /// @notice The guardian changed.
    event GuardianChanged(address indexed previous, address indexed current);

    /// @notice The amount is zero.
    error ZeroAmount();

    /// @notice Credit cannot belong to the zero address.
    error ZeroAccount();

    /// @notice The caller is not the minter.
    error OnlyMinter();

    /// @notice The caller is not the timelock.
    error OnlyTimelock();

    /// @notice The caller is not the guardian.
    error OnlyGuardian();

    /// @notice Raising must raise: `asked` is not above `current`.
    error CeilingNotHigher(uint256 current, uint256 asked);

    /// @notice Lowering must lower: `asked` is not below `current`.
    error CeilingNotLower(uint256 current, uint256 asked);

    /// @notice The token that is activated here.
    function TOKEN() external view returns (IInferenceToken);

    /// @notice The minter that holds the dollars behind every credit.
    function MINTER() external view returns (ITokenMinter);

    /// @notice Who raises the ceiling and names settler and guardian, after its delay.
    function TIMELOCK() external view returns (address);

    /// @notice Nano-dollars in one token unit.
    function NANO_USD_PER_TOKEN_UNIT() external view returns (uint256);

    /// @notice The ceiling of the first day: 50 dollars.
    function FIRST_CEILING_NANO_USD() external view returns (uint96);

    /// @notice Who posts batches of uses; `address(0)` while nobody may.
    function settler() external view returns (address);

    /// @notice Who lowers the ceiling and revokes the settler.
    function guardian() external view returns (address);

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
}
