// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {InferenceSettlement} from "../../src/InferenceSettlement.sol";
import {ITokenMinter} from "../../src/interfaces/ITokenMinter.sol";
import {Observer} from "./Observer.sol";
import {ScriptedPool, ScriptedRegistry} from "./ScriptedAgents.sol";
import {Chain} from "./ThreeChains.sol";

/// @notice The actions that are open to anyone on the primary chain.
abstract contract PrimaryHandler is Observer {
    uint256 internal constant MAX = 1e15;
    bytes32 private constant PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 private constant RECEIVE_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    address[] public actors;
    mapping(address actor => uint256) private keyOf;
    uint256 private salts;

    constructor(InferenceSettlement settlement, ScriptedPool pool, ScriptedRegistry registry, Chain[3] memory all)
        Observer(settlement, pool, registry, all)
    {
        for (uint256 key = 1; key <= 4; ++key) {
            actors.push(vm.addr(key));
            keyOf[vm.addr(key)] = key;
        }
    }

    /* ACTIONS OPEN TO ANYONE */

    function mint(uint256 payerSeed, uint256 toSeed, uint256 amount) external observed {
        (address payer, uint256 paid) = fund(payerSeed, amount);
        vm.startPrank(payer);
        USDC.approve(address(MINTER), paid * MINTER.SCALE());
        MINTER.mint(paid, actorOf(toSeed));
        vm.stopPrank();
    }

    function mintWithPermit(uint256 payerSeed, uint256 toSeed, uint256 amount, bool frontRun, bool activated)
        external
        observed
    {
        (address payer, uint256 paid) = fund(payerSeed, amount);
        uint256 value = paid * MINTER.SCALE();
        ITokenMinter.Permit memory permit = signPermit(payer, value);
        if (frontRun) USDC.permit(payer, address(MINTER), value, permit.deadline, permit.v, permit.r, permit.s);
        vm.prank(payer);
        if (activated) MINTER.mintAndActivateWithPermit(paid, actorOf(toSeed), permit);
        else MINTER.mintWithPermit(paid, actorOf(toSeed), permit);
    }

    function mintWithAuthorization(uint256 payerSeed, uint256 toSeed, uint256 amount, bool activated)
        external
        observed
    {
        (address payer, uint256 paid) = fund(payerSeed, amount);
        address to = actorOf(toSeed);
        ITokenMinter.Action action = activated ? ITokenMinter.Action.Activate : ITokenMinter.Action.Mint;
        ITokenMinter.Authorization memory authorization = signAuthorization(payer, paid * MINTER.SCALE(), action, to);
        if (activated) MINTER.mintAndActivateWithAuthorization(paid, to, authorization);
        else MINTER.mintWithAuthorization(paid, to, authorization);
    }

    function mintAndActivate(uint256 payerSeed, uint256 accountSeed, uint256 amount) external observed {
        (address payer, uint256 paid) = fund(payerSeed, amount);
        vm.startPrank(payer);
        USDC.approve(address(MINTER), paid * MINTER.SCALE());
        MINTER.mintAndActivate(paid, actorOf(accountSeed));
        vm.stopPrank();
    }

    function activate(uint256 holderSeed, uint256 accountSeed, uint256 amount, bool forSelf) external observed {
        address holder = actorOf(holderSeed);
        uint256 held = TOKEN.balanceOf(holder);
        if (held == 0) return;
        amount = bound(amount, 1, held);
        vm.prank(holder);
        if (forSelf) SETTLEMENT.activate(amount);
        else SETTLEMENT.activateFor(amount, actorOf(accountSeed));
    }

    function transfer(uint256 fromSeed, uint256 toSeed, uint256 amount) external observed {
        address from = actorOf(fromSeed);
        amount = bound(amount, 0, TOKEN.balanceOf(from));
        vm.prank(from);
        require(TOKEN.transfer(actorOf(toSeed), amount));
    }

    /* HELPERS */

    function fund(uint256 payerSeed, uint256 amount) private returns (address payer, uint256 paid) {
        payer = actorOf(payerSeed);
        paid = bound(amount, 1, MAX);
        USDC.mint(payer, paid * MINTER.SCALE());
        flows[0].pulled += paid;
    }

    function actorOf(uint256 seed) internal view returns (address) {
        return actors[seed % actors.length];
    }

    function signPermit(address owner, uint256 value) private view returns (ITokenMinter.Permit memory permit) {
        bytes32 message =
            keccak256(abi.encode(PERMIT_TYPEHASH, owner, address(MINTER), value, USDC.nonces(owner), block.timestamp));
        permit.deadline = block.timestamp;
        (permit.v, permit.r, permit.s) = sign(owner, message);
    }

    function signAuthorization(address from, uint256 value, ITokenMinter.Action action, address recipient)
        private
        returns (ITokenMinter.Authorization memory authorization)
    {
        authorization.from = from;
        authorization.validBefore = block.timestamp + 1;
        authorization.salt = bytes32(++salts);
        bytes32 nonce = MINTER.authorizationNonce(action, recipient, authorization.salt);
        bytes32 message =
            keccak256(abi.encode(RECEIVE_TYPEHASH, from, address(MINTER), value, 0, authorization.validBefore, nonce));
        (authorization.v, authorization.r, authorization.s) = sign(from, message);
    }

    function sign(address signer, bytes32 message) private view returns (uint8, bytes32, bytes32) {
        return vm.sign(keyOf[signer], keccak256(abi.encodePacked("\x19\x01", USDC.DOMAIN_SEPARATOR(), message)));
    }
}
