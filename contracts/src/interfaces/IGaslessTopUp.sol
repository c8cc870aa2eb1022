// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IActivator} from "./IActivator.sol";
import {ITokenMinter} from "./ITokenMinter.sol";

/// @title IGaslessTopUp
/// @notice Turns a payer's dollars into credit, for a fee to whoever was named to send the transaction.
/// @dev The payer signs all terms. Anyone may send them: the credit and the fee go where the payer said. The contract
/// keeps no dollars between two calls.
interface IGaslessTopUp is IActivator {
    /// @notice What the payer signs. `owner` pays `amount` and `fee`: `account` is credited with `amount`, and `feeTo`
    /// gets `fee` dollars. Valid before `deadline` (Unix time), once. `salt` makes equal top-ups differ.
    struct TopUp {
        address owner;
        address account;
        uint256 amount;
        uint256 fee;
        address feeTo;
        uint256 deadline;
        bytes32 salt;
    }

    /// @notice `owner` paid `amount` dollars for credit of `account`, and `fee` dollars to `feeTo`.
    event ToppedUp(
        bytes32 indexed id, address indexed owner, address indexed account, uint256 amount, uint256 fee, address feeTo
    );

    /// @notice The deadline has passed.
    error Expired(uint256 deadline);

    /// @notice The top-up was made before.
    error AlreadyMade(bytes32 id);

    /// @notice The signature is not the owner's for these terms.
    error InvalidSignature();

    /// @notice The id of a top-up, which is the nonce of its authorization and its EIP-712 struct hash:
    /// `TopUp(address owner,address account,uint256 amount,uint256 fee,address feeTo,uint256 deadline,bytes32 salt)`.
    function idOf(TopUp calldata topUp) external pure returns (bytes32);

    /// @notice Whether {topUpWithPermit} made this top-up. For {topUpWithAuthorization} ask the stablecoin's
    /// `authorizationState` of owner and id.
    function isMade(bytes32 id) external view returns (bool);

    /// @notice Makes a top-up that is paid by an ERC-3009 authorization.
    /// @param signature of the stablecoin's `ReceiveWithAuthorization` from `owner` to this contract, with the value
    /// `(amount + fee) * SCALE`, `validAfter` 0, `validBefore` the deadline, and {idOf} as nonce
    /// @dev Reverts with {WrongAmountReceived} or {NoMessageFee}, or with an error of stablecoin, minter or bridge.
    function topUpWithAuthorization(TopUp calldata topUp, bytes calldata signature) external payable;

    /// @notice Makes a top-up that is paid by allowance, for a stablecoin without ERC-3009.
    /// @param signature of the top-up as EIP-712 data, with the domain (GaslessTopUp, 1, this chain, this contract)
    /// @param permit the owner's EIP-2612 permit to this contract for `(amount + fee) * SCALE`. It is ignored if it
    /// fails, because someone else may have submitted it first; the allowance decides
    /// @dev Reverts with {Expired}, {AlreadyMade}, {InvalidSignature}, {WrongAmountReceived} or {NoMessageFee}, or with
    /// an error of stablecoin, minter or bridge.
    function topUpWithPermit(TopUp calldata topUp, bytes calldata signature, ITokenMinter.Permit calldata permit)
        external
        payable;
}
