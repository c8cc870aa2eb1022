// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IInferenceSettlement} from "./IInferenceSettlement.sol";
import {IInferenceToken} from "./IInferenceToken.sol";
import {IStablecoin} from "./IStablecoin.sol";
import {ITokenBackingOutbox} from "./ITokenBackingOutbox.sol";

/// @title ITokenMinter
/// @notice The par mint: one dollar in, one token out, at all times. No fee, no limit, no pause, and no redemption.
/// @dev Units: `amount` is in token units (1e-6 dollar). A stablecoin with d decimals is pulled as `amount * SCALE`
/// with SCALE = 10^(d-6). The amount is multiplied and never divided, so nothing is rounded.
/// Trust: the stablecoin is fixed and assumed to be sound. A transfer that delivers anything but the exact amount
/// reverts. If its issuer pauses it or blocks this contract, minting stops until that ends, and nothing else is
/// affected.
/// Dollars: on the primary chain dollars stay here as `backing` and leave only through {payOut}, which only the
/// settlement can call. A secondary chain passes them to the outbox in the same transaction, and its `backing` stays
/// zero.
/// Dollars that are sent here by a plain transfer are a gift: they are not booked, and no one can withdraw them.
/// Lines (primary chain): the line of a secondary chain is the part of the backing that belongs to that chain, which is
/// what the primary chain owes it: booked + gifted + sent out - returned - activated, never below zero. The line limits
/// every message from that chain, including forged ones.
interface ITokenMinter {
    /// @notice What the dollars of an ERC-3009 authorization pay for.
    enum Action {
        Mint,
        Activate
    }

    /// @notice An EIP-2612 permit by the caller for exactly the dollars to be pulled.
    struct Permit {
        uint256 deadline;
        uint8 v;
        bytes32 r;
        bytes32 s;
    }

    /// @notice An ERC-3009 authorization by `from` to this contract for exactly the dollars to be pulled. Its nonce is
    /// {authorizationNonce}, so the submitter can change neither recipient nor action.
    struct Authorization {
        address from;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 salt;
        uint8 v;
        bytes32 r;
        bytes32 s;
    }

    /// @notice The inbox that receives the dollars of a secondary chain, by the LayerZero endpoint id of that chain.
    struct Inbox {
        uint32 eid;
        address inbox;
    }

    /// @notice `payer` paid `amount` dollars, and `amount` tokens were minted to `to`.
    event Minted(address indexed payer, address indexed to, uint256 amount, uint256 backingAfter);

    /// @notice `payer` paid `amount` dollars that were credited to `account`; no token was minted.
    event MintedAndActivated(address indexed payer, address indexed account, uint256 amount, uint256 backingAfter);

    /// @notice The settlement paid `amount` dollars to `to`.
    event PaidOut(address indexed to, uint256 amount, uint256 backingAfter);

    /// @notice `amount` tokens were minted to `to` for credit that was debited; the dollars stayed.
    event MintedBack(address indexed to, uint256 amount);

    /// @notice `amount` dollars from the chain `eid` were booked.
    event Booked(uint32 indexed eid, uint256 amount, uint256 lineAfter, uint256 backingAfter);

    /// @notice `payer` gave `amount` dollars to the line of the chain `eid`.
    event FloatFunded(
        address indexed payer, uint32 indexed eid, uint256 amount, uint256 lineAfter, uint256 backingAfter
    );

    /// @notice The amount is zero.
    error ZeroAmount();

    /// @notice The stablecoin has fewer than 6 or more than 18 decimals.
    error UnsupportedDecimals(uint8 decimals);

    /// @notice The minter must have either a settlement (primary chain) or an outbox (secondary chain), not both or
    /// neither.
    error AmbiguousChain();

    /// @notice This chain has no settlement, so nothing can be activated here.
    error NoSettlement();

    /// @notice The caller is not the settlement.
    error OnlySettlement();

    /// @notice The caller is not the bridge.
    error OnlyBridge();

    /// @notice The chain `eid` has no inbox.
    error UnknownChain(uint32 eid);

    /// @notice No dollars from the chain `eid` have arrived since the last booking.
    error NothingArrived(uint32 eid);

    /// @notice The stablecoin delivered `received` units instead of `expected`.
    error WrongAmountReceived(uint256 expected, uint256 received);

    /// @notice `asked` exceeds the booked backing.
    error InsufficientBacking(uint256 asked, uint256 booked);

    /// @notice The token that this contract mints.
    function TOKEN() external view returns (IInferenceToken);

    /// @notice The stablecoin of this chain.
    function STABLECOIN() external view returns (IStablecoin);

    /// @notice The settlement, the only contract that can pay dollars out; `address(0)` off the primary chain.
    function SETTLEMENT() external view returns (IInferenceSettlement);

    /// @notice The outbox that receives the dollars; `address(0)` on the primary chain.
    function OUTBOX() external view returns (ITokenBackingOutbox);

    /// @notice The bridge, the only contract that can draw or raise a line; `address(0)` if this chain has none.
    function BRIDGE() external view returns (address);

    /// @notice Stablecoin units per token unit.
    function SCALE() external view returns (uint256);

    /// @notice The dollars booked on this chain, in token units.
    function backing() external view returns (uint256);

    /// @notice The inbox that receives the dollars of the chain `eid`; `address(0)` for an unknown chain.
    function inboxOf(uint32 eid) external view returns (address);

    /// @notice The line of the chain `eid`, and the sum of all gifts to it. Transfers can draw `balance - gifted`,
    /// activations can draw the whole `balance`.
    function lineOf(uint32 eid) external view returns (uint128 balance, uint128 gifted);

    /// @notice The sum of all lines.
    function lineSum() external view returns (uint256);

    /// @notice Mints `amount` tokens to the caller for the same amount of the caller's dollars, which need an
    /// allowance.
    /// @dev Reverts with {ZeroAmount} or {WrongAmountReceived}, or with an error of the stablecoin.
    function mint(uint256 amount) external;

    /// @notice Same as {mint}, but mints to `to`.
    function mint(uint256 amount, address to) external;

    /// @notice Same as {mint}, with a permit. A permit that fails is ignored, because someone else may have submitted
    /// it first; the allowance decides.
    function mintWithPermit(uint256 amount, address to, Permit calldata permit) external;

    /// @notice Same as {mint}, paid by an authorization for (Mint, `to`). Anyone may submit it.
    function mintWithAuthorization(uint256 amount, address to, Authorization calldata authorization) external;

    /// @notice Converts `amount` of the caller's dollars into credit of `account` in one step.
    /// @dev Primary chain only. Equivalent to a mint followed by an activation, but mints no token. Reverts as {mint}
    /// does, with {NoSettlement}, or with the settlement's `ZeroAccount`.
    function mintAndActivate(uint256 amount, address account) external;

    /// @notice Same as {mintAndActivate}, with a permit as in {mintWithPermit}.
    function mintAndActivateWithPermit(uint256 amount, address account, Permit calldata permit) external;

    /// @notice Same as {mintAndActivate}, paid by an authorization for (Activate, `account`). Anyone may submit it.
    function mintAndActivateWithAuthorization(uint256 amount, address account, Authorization calldata authorization)
        external;

    /// @notice Pays `amount` (token units) of booked dollars to `to`.
    /// @dev Trust: the settlement calls it only for amounts that it owes. Reverts with {OnlySettlement} or
    /// {InsufficientBacking}, or with an error of the stablecoin.
    function payOut(address to, uint256 amount) external;

    /// @notice Mints `amount` tokens to `to` for debited credit of the same amount, whose dollars stay here.
    /// @dev Trust: the settlement has debited the same amount before. Reverts with {OnlySettlement} or the token's
    /// `ERC20InvalidReceiver`.
    function mintBack(address to, uint256 amount) external;

    /// @notice Pulls the dollars in the inbox of the chain `eid`, in whole token units, and books them to its line.
    /// Anyone may call it. Returns the amount.
    /// @dev Only dollars that have arrived are booked, and only to the chain that owns the inbox. Primary chain only.
    /// Reverts with {UnknownChain} or {NothingArrived}, or with an error of the stablecoin.
    function book(uint32 eid) external returns (uint256 amount);

    /// @notice Gives `amount` of the caller's dollars to the line of the chain `eid`, permanently, so that activations
    /// from there need not wait for their own dollars. Transfers cannot draw on them. Anyone may call it.
    /// @dev Reverts as {mint} does, or with {UnknownChain}.
    function fundFloat(uint32 eid, uint256 amount) external;

    /// @notice Raises the line of the chain `eid` for `amount` tokens that were burned here to be minted there.
    /// @dev Reverts with {OnlyBridge} or {UnknownChain}.
    function raiseLine(uint32 eid, uint256 amount) external;

    /// @notice Lowers the line of the chain `eid` for `amount` tokens that were burned there to become tokens here, or
    /// credit (`isActivation`). Returns false and changes nothing if the line does not cover the amount.
    /// @dev Reverts with {OnlyBridge}.
    function drawLine(uint32 eid, uint256 amount, bool isActivation) external returns (bool covered);

    /// @notice The nonce of an authorization that pays for `action` to `recipient`: the hash of both and a `salt` of
    /// the signer's choice.
    function authorizationNonce(Action action, address recipient, bytes32 salt) external pure returns (bytes32);
}
