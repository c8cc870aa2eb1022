// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {Activator} from "./Activator.sol";
import {IStablecoin} from "./interfaces/IStablecoin.sol";
import {IStandingOrders} from "./interfaces/IStandingOrders.sol";
import {ITokenBridge} from "./interfaces/ITokenBridge.sol";
import {ITokenMinter} from "./interfaces/ITokenMinter.sol";

/// @title StandingOrders
/// @notice Pulls an owner's dollars into the owner's credit, so many a day. See {IStandingOrders}.
contract StandingOrders is IStandingOrders, Activator, EIP712, Nonces {
    using SafeCast for uint256;

    /* CONSTANTS */

    bytes32 internal constant ORDER_TYPEHASH = keccak256(
        "Order(address owner,address puller,uint128 maxPerDay,uint64 expiresAt,uint256 nonce,uint256 deadline)"
    );

    /* STORAGE */

    mapping(address owner => Order) internal _orders;

    /* CONSTRUCTOR */

    constructor(ITokenMinter minter, IStablecoin stablecoin, ITokenBridge activationBridge)
        Activator(minter, stablecoin, activationBridge)
        EIP712("StandingOrders", "1")
    {}

    /* ORDER */

    /// @inheritdoc IStandingOrders
    function set(address puller, uint128 maxPerDay, uint64 expiresAt) external {
        _useNonce(msg.sender);
        _set(msg.sender, puller, maxPerDay, expiresAt);
    }

    /// @inheritdoc IStandingOrders
    function setWithSignature(
        address owner,
        address puller,
        uint128 maxPerDay,
        uint64 expiresAt,
        uint256 deadline,
        bytes calldata signature
    ) external {
        require(block.timestamp < deadline, Expired(deadline));
        bytes32 digest = _hashTypedDataV4(
            keccak256(abi.encode(ORDER_TYPEHASH, owner, puller, maxPerDay, expiresAt, _useNonce(owner), deadline))
        );
        require(SignatureChecker.isValidSignatureNow(owner, digest, signature), InvalidSignature());
        _set(owner, puller, maxPerDay, expiresAt);
    }

    /// @inheritdoc IStandingOrders
    function end() external {
        _useNonce(msg.sender);
        _set(msg.sender, address(0), 0, 0);
    }

    /* PULL */

    /// @inheritdoc IStandingOrders
    function pull(address owner, uint256 amount) external payable nonReentrant {
        Order storage order = _orders[owner];
        require(msg.sender == order.puller, OnlyPuller());
        require(block.timestamp < order.expiresAt, Expired(order.expiresAt));
        uint256 left = leftToday(owner);
        require(amount <= left, AboveDayMaximum(amount, left));

        uint32 today = _today();
        uint256 pulled = amount + (order.day == today ? order.pulled : 0);
        (order.day, order.pulled) = (today, pulled.toUint128());
        emit Pulled(owner, amount, pulled);
        _pull(owner, amount * SCALE);
        _activate(amount, owner);
    }

    /* VIEWS */

    /// @inheritdoc IStandingOrders
    function orderOf(address owner) external view returns (Order memory) {
        return _orders[owner];
    }

    /// @inheritdoc IStandingOrders
    function leftToday(address owner) public view returns (uint256) {
        Order storage order = _orders[owner];
        if (block.timestamp >= order.expiresAt) return 0;
        return Math.saturatingSub(order.maxPerDay, order.day == _today() ? order.pulled : 0);
    }

    /* INTERNAL */

    function _set(address owner, address puller, uint128 maxPerDay, uint64 expiresAt) internal {
        Order storage order = _orders[owner];
        (order.puller, order.expiresAt, order.maxPerDay) = (puller, expiresAt, maxPerDay);
        emit OrderSet(owner, puller, maxPerDay, expiresAt);
    }

    function _today() internal view returns (uint32) {
        return uint32(block.timestamp / 1 days);
    }
}
