// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IInferenceSettlement} from "./IInferenceSettlement.sol";
import {IInferenceToken} from "./IInferenceToken.sol";
import {IStablecoin} from "./IStablecoin.sol";
import {ITokenBackingOutbox} from "./ITokenBackingOutbox.sol";

/// @title ITokenMinter
/// @notice The par door: one dollar in, one token out, always. No fee, no limit, no pause, and no way back.
/// @dev Units: `amount` is in token units (1e-6 dollar). A stablecoin of d decimals is pulled as `amount * SCALE` with
/// SCALE = 10^(d-6): multiplied, never divided, so nothing is rounded.
/// Trust: the stablecoin is fixed for ever and is what it says; a transfer that delivers anything but the exact amount is
/// refused. If its issuer pauses it or blocks this contract, the door is closed until that ends, and nothing else is.
/// Dollars: on the primary chain they stay here as `backing` and leave only through {payOut}, which only the settlement
/// can call. On a secondary chain they pass to the outbox in the same transaction and `backing` stays zero.
/// Dollars sent here by a plain transfer are a gift: they are not booked and nobody can take them out.
/// Lines (primary chain): the line of a secondary chain is the part of the backing that belongs to it, and so what the
/// primary chain owes it: booked + gifted + sent out - come back - activated, never below zero. Whatever comes from that
/// chain, true or forged, is limited by it.
interface ITokenMinter {
    /// @notice What the dollars of an ERC-3009 authorization are for.
    enum Action {
        Mint,
        Activate
    }

    /// @notice An EIP-2612 permit of the caller for exactly the dollars to be pulled.
    struct Permit {
        uint256 deadline;
        uint8 v;
        bytes32 r;
        bytes32 s;
    }

    /// @notice An ERC-3009 authorization of `from` to this contract for exactly the dollars to be pulled. Its nonce is
    /// {authorizationNonce}, so that whoever submits it can choose neither recipient nor action.
    struct Authorization {
        address from;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 salt;
        uint8 v;
        bytes32 r;
        bytes32 s;
    }

    /// @notice Where the dollars of a secondary chain arrive, by LayerZero's id of that chain.
    struct Inbox {
        uint32 eid;
        address inbox;
    }

    /// @notice `payer` paid `amount` dollars and `to` got `amount` tokens.
    event Minted(address indexed payer, address indexed to, uint256 amount, uint256 backingAfter);

    /// @notice `payer` paid `amount` dollars that became credit of `account`; no token existed in between.
    event MintedAndActivated(address indexed payer, address indexed account, uint256 amount, uint256 backingAfter);

    /// @notice The settlement sent `amount` dollars to `to`.
    event PaidOut(address indexed to, uint256 amount, uint256 backingAfter);

    /// @notice `to` got `amount` tokens for credit that was debited; its dollars stayed.
    event MintedBack(address indexed to, uint256 amount);

    /// @notice `amount` dollars of the chain `eid` arrived.
    event Booked(uint32 indexed eid, uint256 amount, uint256 lineAfter, uint256 backingAfter);

    /// @notice `payer` gave `amount` dollars to the line of the chain `eid`.
    event FloatFunded(
        address indexed payer, uint32 indexed eid, uint256 amount, uint256 lineAfter, uint256 backingAfter
    );

    /// @notice The amount is zero.
    error ZeroAmount();

    /// @notice The stablecoin has fewer than 6 or more than 18 decimals.
    error UnsupportedDecimals(uint8 decimals);

    /// @notice A minter needs either a settlement (primary chain) or an outbox (secondary chain), and not both.
    error AmbiguousChain();

    /// @notice There is no settlement on this chain to activate at.
    error NoSettlement();

    /// @notice The caller is not the settlement.
    error OnlySettlement();

    /// @notice The caller is not the bridge.
    error OnlyBridge();

    /// @notice No inbox was built for the chain `eid`.
    error UnknownChain(uint32 eid);

    /// @notice No dollar of the chain `eid` has arrived since the last booking.
    error NothingArrived(uint32 eid);

    /// @notice The stablecoin delivered `received` of its units where `expected` were due.
    error WrongAmountReceived(uint256 expected, uint256 received);

    /// @notice Less than `asked` is booked.
    error InsufficientBacking(uint256 asked, uint256 booked);

    /// @notice The token that is minted here.
    function TOKEN() external view returns (IInferenceToken);

    /// @notice The chain's dollar.
    function STABLECOIN() external view returns (IStablecoin);

    /// @notice The only contract that can pay dollars out; `address(0)` off the primary chain.
    function SETTLEMENT() external view returns (IInferenceSettlement);

    /// @notice Where dollars go; `address(0)` on the primary chain.
    function OUTBOX() external view returns (ITokenBackingOutbox);

    /// @notice The only contract that moves lines; `address(0)` where there is none.
    function BRIDGE() external view returns (address);

    /// @notice Stablecoin units in one token unit.
    function SCALE() external view returns (uint256);

    /// @notice The dollars that are booked here, in token units.
    function backing() external view returns (uint256);

    /// @notice Where the dollars of the chain `eid` arrive; `address(0)` of an unknown chain.
    function inboxOf(uint32 eid) external view returns (address);

    /// @notice What the primary chain owes the chain `eid`, and how much was ever gifted to it. Transfers can draw
    /// `balance - gifted`, activations all of `balance`.
    function lineOf(uint32 eid) external view returns (uint128 balance, uint128 gifted);

    /// @notice The sum of all lines.
    function lineSum() external view returns (uint256);

    /// @notice Mints `amount` tokens to the caller for as many of the caller's dollars, which need an allowance.
    /// @dev Reverts with {ZeroAmount}, {WrongAmountReceived}, or as the stablecoin does.
    function mint(uint256 amount) external;

    /// @notice As {mint}, with the tokens to `to`.
    function mint(uint256 amount, address to) external;

    /// @notice As {mint}, with a permit. A permit that fails (somebody may have submitted it first) is ignored: the
    /// allowance decides.
    function mintWithPermit(uint256 amount, address to, Permit calldata permit) external;

    /// @notice As {mint}, paid by an authorization for (Mint, `to`). Anyone may submit it.
    function mintWithAuthorization(uint256 amount, address to, Authorization calldata authorization) external;

    /// @notice Turns `amount` of the caller's dollars into credit of `account` in one step.
    /// @dev Primary chain only. The same as minting and activating, without the token in between. Reverts as {mint}, with
    /// {NoSettlement}, or with the settlement's `ZeroAccount`.
    function mintAndActivate(uint256 amount, address account) external;

    /// @notice As {mintAndActivate}, with a permit as in {mintWithPermit}.
    function mintAndActivateWithPermit(uint256 amount, address account, Permit calldata permit) external;

    /// @notice As {mintAndActivate}, paid by an authorization for (Activate, `account`). Anyone may submit it.
    function mintAndActivateWithAuthorization(uint256 amount, address account, Authorization calldata authorization)
        external;

    /// @notice Sends `amount` (token units) booked dollars to `to`.
    /// @dev Trust: the settlement calls it only for what it owes. Reverts with {OnlySettlement}, {InsufficientBacking}, or
    /// as the stablecoin does.
    function payOut(address to, uint256 amount) external;

    /// @notice Mints `amount` to `to` for credit of as many dollars, which stay.
    /// @dev Trust: the settlement has debited as much before. Reverts with {OnlySettlement}, or the token's
    /// `ERC20InvalidReceiver`.
    function mintBack(address to, uint256 amount) external;

    /// @notice Takes in the dollars that lie in the inbox of the chain `eid`, whole token units, and books them to its
    /// line. Anyone may. Returns the amount.
    /// @dev Only what really arrived is booked, and to the chain whose inbox it is. Primary chain only. Reverts with
    /// {UnknownChain}, {NothingArrived}, or as the stablecoin does.
    function book(uint32 eid) external returns (uint256 amount);

    /// @notice Gives `amount` of the caller's dollars to the line of the chain `eid`, for ever, so that activations from
    /// there need not wait for their own dollars. Transfers cannot use them. Anyone may.
    /// @dev Reverts as {mint}, or with {UnknownChain}.
    function fundFloat(uint32 eid, uint256 amount) external;

    /// @notice `amount` tokens were burned here to be minted on the chain `eid`: its line rises.
    /// @dev Reverts with {OnlyBridge}, {UnknownChain}.
    function raiseLine(uint32 eid, uint256 amount) external;

    /// @notice `amount` tokens were burned on the chain `eid` to become tokens here, or credit (`isActivation`): its line
    /// falls, and the answer is true, or it does not cover them and nothing happens.
    /// @dev Reverts with {OnlyBridge}.
    function drawLine(uint32 eid, uint256 amount, bool isActivation) external returns (bool covered);

    /// @notice The nonce of an authorization that pays for `action` to `recipient`: the hash of these and a free `salt`.
    function authorizationNonce(Action action, address recipient, bytes32 salt) external pure returns (bytes32);
}
