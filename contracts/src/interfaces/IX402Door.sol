// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IActivator} from "./IActivator.sol";

/// @title IX402Door
/// @notice The payee of x402 payments (scheme `exact`, ERC-3009). A dollar that is paid here by an authorization
/// becomes credit of its signer, and of no other account.
/// @dev A stock x402 client signs a plain `TransferWithAuthorization` with a random nonce, which commits to the payee
/// alone, so the payee decides what happens with the dollars. Source: x402, specs/schemes/exact/scheme_exact_evm.md.
/// Anyone may hand in an authorization ({settle}) before its time is over. Anyone may also execute it on the
/// stablecoin, without the door. The dollars are then here, and the stablecoin says only that the nonce is used, which
/// is also true of a canceled authorization, and of another authorization by the same signer with the same nonce.
/// {claim} therefore takes no signature. It takes the stablecoin's own events, proven against the hash of their block,
/// and credits the sender that they name. A nonce is credited once, by {settle} or by {claim}.
/// Limits: a block's hash is known for 256 blocks, and for 8,191 where the chain has EIP-2935. A transfer that nobody
/// claims in that time stays here for ever. So do transfers without an authorization, and less than one token unit.
/// Trust: the stablecoin emits `AuthorizationUsed` directly before the `Transfer` of the same authorization, as
/// Circle's FiatTokenV2 does.
interface IX402Door is IActivator {
    /// @notice The signed terms of ERC-3009's `TransferWithAuthorization` to this contract; `value` is in units of the
    /// stablecoin.
    struct Authorization {
        address from;
        uint256 value;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 nonce;
    }

    /// @notice Names the event `AuthorizationUsed` of an executed authorization.
    struct EventProof {
        /// @dev The block of the transfer.
        uint256 blockNumber;
        /// @dev The RLP of that block's header.
        bytes header;
        /// @dev The index of the transaction in its block.
        uint256 transactionIndex;
        /// @dev The nodes from the block's receipt root to the transaction's receipt.
        bytes[] nodes;
        /// @dev The place of `AuthorizationUsed` among the logs of the transaction. The next log is the `Transfer`.
        uint256 logIndex;
    }

    /// @notice The dollars of the authorization (`from`, `nonce`) became credit of `from`.
    event Credited(address indexed from, bytes32 indexed nonce, uint256 amount);

    /// @notice The authorization was credited before.
    error AlreadyCredited(address from, bytes32 nonce);

    /// @notice The header is not that of the block, or the block is too old for this chain to know its hash.
    error UnknownBlock(uint256 blockNumber);

    /// @notice The two logs are not those of an authorization that paid this contract.
    error NotAPayment();

    /// @notice Whether the authorization was credited.
    function isCredited(address from, bytes32 nonce) external view returns (bool);

    /// @notice Executes the authorization and credits its signer. Anyone may call it.
    /// @param signature of the authorization, by its signer's key (65 bytes) or contract (ERC-1271)
    /// @return amount the credit
    /// @dev Reverts with {WrongAmountReceived} or {NoMessageFee}, or with an error of stablecoin, minter or bridge. If
    /// the stablecoin answers that the authorization is used, it was executed without the door, or canceled: see
    /// {claim}.
    function settle(Authorization calldata authorization, bytes calldata signature)
        external
        payable
        returns (uint256 amount);

    /// @notice Credits the signer of an authorization that was executed without the door. Anyone may call it, from the
    /// next block on.
    /// @return amount the credit
    /// @dev Reverts with {UnknownBlock}, {NotAPayment}, {AlreadyCredited} or {NoMessageFee}, with an error of minter or
    /// bridge, or with one of OpenZeppelin's `TrieProof` or `RLP` if the proof is malformed.
    function claim(EventProof calldata proof) external payable returns (uint256 amount);
}
