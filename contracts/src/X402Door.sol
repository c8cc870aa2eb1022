// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Blockhash} from "@openzeppelin/contracts/utils/Blockhash.sol";
import {Memory} from "@openzeppelin/contracts/utils/Memory.sol";
import {RLP} from "@openzeppelin/contracts/utils/RLP.sol";
import {TrieProof} from "@openzeppelin/contracts/utils/cryptography/TrieProof.sol";

import {Activator} from "./Activator.sol";
import {IStablecoin, IStablecoinForContracts} from "./interfaces/IStablecoin.sol";
import {ITokenBridge} from "./interfaces/ITokenBridge.sol";
import {ITokenMinter} from "./interfaces/ITokenMinter.sol";
import {IX402Door} from "./interfaces/IX402Door.sol";

/// @title X402Door
/// @notice Credits x402 payments to their signers. See {IX402Door}.
contract X402Door is IX402Door, Activator {
    using Memory for bytes;
    using RLP for bytes;
    using RLP for Memory.Slice;

    /* CONSTANTS */

    bytes32 internal constant AUTHORIZATION_USED = keccak256("AuthorizationUsed(address,bytes32)");

    /// @dev The places of the receipts' root in a header, and of the logs in a receipt.
    uint256 internal constant RECEIPTS_ROOT = 5;
    uint256 internal constant LOGS = 3;

    /* STORAGE */

    /// @inheritdoc IX402Door
    mapping(address from => mapping(bytes32 nonce => bool)) public isCredited;

    struct Log {
        address emitter;
        bytes32 signature;
        bytes32 first;
        bytes32 second;
        bytes data;
    }

    /* CONSTRUCTOR */

    constructor(ITokenMinter minter, IStablecoin stablecoin, ITokenBridge activationBridge)
        Activator(minter, stablecoin, activationBridge)
    {}

    /* CREDIT */

    /// @inheritdoc IX402Door
    function settle(Authorization calldata authorization, bytes calldata signature)
        external
        payable
        nonReentrant
        returns (uint256 amount)
    {
        uint256 balanceBefore = STABLECOIN.balanceOf(address(this));
        _execute(authorization, signature);
        _checkReceived(authorization.value, balanceBefore);
        return _credit(authorization.from, authorization.nonce, authorization.value);
    }

    /// @inheritdoc IX402Door
    function claim(EventProof calldata proof) external payable nonReentrant returns (uint256 amount) {
        Memory.Slice[] memory logs = _logs(proof);
        Log memory used = _log(logs[proof.logIndex]);
        Log memory paid = _log(logs[proof.logIndex + 1]);
        bool isPayment = used.emitter == address(STABLECOIN) && used.signature == AUTHORIZATION_USED
            && paid.emitter == address(STABLECOIN) && paid.signature == IERC20.Transfer.selector
            && paid.first == used.first && paid.second == bytes32(uint256(uint160(address(this))));
        require(isPayment, NotAPayment());

        address from = address(uint160(uint256(used.first)));
        require(!isCredited[from][used.second], AlreadyCredited(from, used.second));
        return _credit(from, used.second, abi.decode(paid.data, (uint256)));
    }

    /* INTERNAL */

    /// @dev The form with a key's signature is the standard's; the other is Circle's, for signers that are contracts.
    function _execute(Authorization calldata a, bytes calldata signature) internal {
        if (signature.length != 65) {
            return IStablecoinForContracts(address(STABLECOIN))
                .transferWithAuthorization(
                    a.from, address(this), a.value, a.validAfter, a.validBefore, a.nonce, signature
                );
        }
        STABLECOIN.transferWithAuthorization(
            a.from,
            address(this),
            a.value,
            a.validAfter,
            a.validBefore,
            a.nonce,
            uint8(signature[64]),
            bytes32(signature[:32]),
            bytes32(signature[32:64])
        );
    }

    /// @dev Credits dollars that are here. The caller proves the dollars' arrival and a nonce without credit.
    function _credit(address from, bytes32 nonce, uint256 value) internal returns (uint256 amount) {
        isCredited[from][nonce] = true;
        amount = value / SCALE;
        emit Credited(from, nonce, amount);
        _activate(amount, from);
    }

    /// @dev The logs of a transaction, proven against the hash of its block.
    function _logs(EventProof calldata proof) internal view returns (Memory.Slice[] memory) {
        bytes32 blockHash = Blockhash.blockHash(proof.blockNumber);
        require(blockHash != 0 && keccak256(proof.header) == blockHash, UnknownBlock(proof.blockNumber));
        bytes32 receiptsRoot = proof.header.decodeList()[RECEIPTS_ROOT].readBytes32();
        bytes memory receipt = TrieProof.traverse(receiptsRoot, RLP.encode(proof.transactionIndex), proof.nodes);
        // A receipt is a list, behind its type unless the transaction is of the first kind (EIP-2718).
        Memory.Slice list = receipt.asSlice();
        if (uint8(receipt[0]) < 0x80) list = Memory.slice(list, 1);
        return list.readList()[LOGS].readList();
    }

    function _log(Memory.Slice item) internal pure returns (Log memory log) {
        Memory.Slice[] memory fields = item.readList();
        Memory.Slice[] memory topics = fields[1].readList();
        require(topics.length == 3, NotAPayment());
        log.emitter = fields[0].readAddress();
        log.signature = topics[0].readBytes32();
        log.first = topics[1].readBytes32();
        log.second = topics[2].readBytes32();
        log.data = fields[2].readBytes();
    }
}
