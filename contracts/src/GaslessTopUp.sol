// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

import {Activator} from "./Activator.sol";
import {IGaslessTopUp} from "./interfaces/IGaslessTopUp.sol";
import {IStablecoin, IStablecoinForContracts} from "./interfaces/IStablecoin.sol";
import {ITokenBridge} from "./interfaces/ITokenBridge.sol";
import {ITokenMinter} from "./interfaces/ITokenMinter.sol";

/// @title GaslessTopUp
/// @notice Credit for signed dollars, for a fee. See {IGaslessTopUp}.
contract GaslessTopUp is IGaslessTopUp, Activator, EIP712 {
    using SafeERC20 for IStablecoin;

    /* CONSTANTS */

    bytes32 internal constant TOP_UP_TYPEHASH = keccak256(
        "TopUp(address owner,address account,uint256 amount,uint256 fee,address feeTo,uint256 deadline,bytes32 salt)"
    );

    /* STORAGE */

    /// @inheritdoc IGaslessTopUp
    mapping(bytes32 id => bool) public isMade;

    /* CONSTRUCTOR */

    constructor(ITokenMinter minter, IStablecoin stablecoin, ITokenBridge activationBridge)
        Activator(minter, stablecoin, activationBridge)
        EIP712("GaslessTopUp", "1")
    {}

    /* TOP-UP */

    /// @inheritdoc IGaslessTopUp
    function topUpWithAuthorization(TopUp calldata topUp, bytes calldata signature) external payable nonReentrant {
        bytes32 id = idOf(topUp);
        uint256 value = (topUp.amount + topUp.fee) * SCALE;
        uint256 balanceBefore = STABLECOIN.balanceOf(address(this));
        _receive(topUp, value, id, signature);
        _checkReceived(value, balanceBefore);
        _divide(id, topUp);
    }

    /// @inheritdoc IGaslessTopUp
    function topUpWithPermit(TopUp calldata topUp, bytes calldata signature, ITokenMinter.Permit calldata permit)
        external
        payable
        nonReentrant
    {
        bytes32 id = idOf(topUp);
        require(block.timestamp < topUp.deadline, Expired(topUp.deadline));
        require(!isMade[id], AlreadyMade(id));
        bool isSigned = SignatureChecker.isValidSignatureNow(topUp.owner, _hashTypedDataV4(id), signature);
        require(isSigned, InvalidSignature());

        isMade[id] = true;
        uint256 value = (topUp.amount + topUp.fee) * SCALE;
        try STABLECOIN.permit(topUp.owner, address(this), value, permit.deadline, permit.v, permit.r, permit.s) {}
            catch {}
        _pull(topUp.owner, value);
        _divide(id, topUp);
    }

    /* VIEWS */

    /// @inheritdoc IGaslessTopUp
    function idOf(TopUp calldata topUp) public pure returns (bytes32) {
        return keccak256(abi.encode(TOP_UP_TYPEHASH, topUp));
    }

    /* INTERNAL */

    /// @dev The form with a key's signature is the standard's; the other is Circle's, for signers that are contracts.
    function _receive(TopUp calldata topUp, uint256 value, bytes32 nonce, bytes calldata signature) internal {
        if (signature.length != 65) {
            return IStablecoinForContracts(address(STABLECOIN))
                .receiveWithAuthorization(topUp.owner, address(this), value, 0, topUp.deadline, nonce, signature);
        }
        STABLECOIN.receiveWithAuthorization(
            topUp.owner,
            address(this),
            value,
            0,
            topUp.deadline,
            nonce,
            uint8(signature[64]),
            bytes32(signature[:32]),
            bytes32(signature[32:64])
        );
    }

    /// @dev Divides the dollars that were received as the owner signed.
    function _divide(bytes32 id, TopUp calldata topUp) internal {
        emit ToppedUp(id, topUp.owner, topUp.account, topUp.amount, topUp.fee, topUp.feeTo);
        if (topUp.fee != 0) STABLECOIN.safeTransfer(topUp.feeTo, topUp.fee * SCALE);
        _activate(topUp.amount, topUp.account);
    }
}
