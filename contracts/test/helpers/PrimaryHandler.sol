// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {TestBase} from "forge-std/Base.sol";
import {StdUtils} from "forge-std/StdUtils.sol";
import {Vm} from "forge-std/Vm.sol";

import {InferenceSettlement} from "../../src/InferenceSettlement.sol";
import {InferenceToken} from "../../src/InferenceToken.sol";
import {TokenMinter} from "../../src/TokenMinter.sol";
import {IInferenceSettlement} from "../../src/interfaces/IInferenceSettlement.sol";
import {IInferenceToken} from "../../src/interfaces/IInferenceToken.sol";
import {ITokenMinter} from "../../src/interfaces/ITokenMinter.sol";
import {IUsdc} from "./IUsdc.sol";

/// @notice Everything that anybody can do on the primary chain, and what an observer of it must have seen.
contract PrimaryHandler is TestBase, StdUtils {
    uint256 private constant MAX = 1e15;
    bytes32 private constant PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 private constant RECEIVE_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    IUsdc private immutable USDC;
    InferenceToken private immutable TOKEN;
    TokenMinter private immutable MINTER;
    InferenceSettlement private immutable SETTLEMENT;

    address[] public actors;
    mapping(address actor => uint256) private keyOf;
    uint256 private salts;

    /// @notice Dollars that went through the door, in token units.
    uint256 public pulled;
    /// @notice The last id that was announced, and what all announcements add up to.
    uint256 public lastId;
    uint256 public announcedTotal;
    /// @notice Announcements that did not follow from the one before, or told a credit that is not there.
    uint256 public wrongAnnouncements;
    /// @notice Calls after which less was booked than before, though the settlement paid nothing.
    uint256 public backingLosses;

    constructor(IUsdc usdc, InferenceToken token, TokenMinter minter, InferenceSettlement settlement) {
        (USDC, TOKEN, MINTER, SETTLEMENT) = (usdc, token, minter, settlement);
        for (uint256 key = 1; key <= 4; ++key) {
            actors.push(vm.addr(key));
            keyOf[vm.addr(key)] = key;
        }
        vm.recordLogs();
    }

    modifier observed() {
        uint256 backingBefore = MINTER.backing();
        _;
        if (MINTER.backing() < backingBefore) backingLosses++;
        readAnnouncements();
    }

    /* WHAT ANYBODY CAN DO */

    function mint(uint256 payerSeed, uint256 toSeed, uint256 amount) external observed {
        (address payer, uint256 paid) = fund(payerSeed, amount);
        vm.startPrank(payer);
        USDC.approve(address(MINTER), paid);
        MINTER.mint(paid, actorOf(toSeed));
        vm.stopPrank();
    }

    function mintWithPermit(uint256 payerSeed, uint256 toSeed, uint256 amount, bool frontRun, bool activated)
        external
        observed
    {
        (address payer, uint256 paid) = fund(payerSeed, amount);
        ITokenMinter.Permit memory permit = signPermit(payer, paid);
        if (frontRun) USDC.permit(payer, address(MINTER), paid, permit.deadline, permit.v, permit.r, permit.s);
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
        ITokenMinter.Authorization memory authorization = signAuthorization(payer, paid, action, to);
        if (activated) MINTER.mintAndActivateWithAuthorization(paid, to, authorization);
        else MINTER.mintWithAuthorization(paid, to, authorization);
    }

    function mintAndActivate(uint256 payerSeed, uint256 accountSeed, uint256 amount) external observed {
        (address payer, uint256 paid) = fund(payerSeed, amount);
        vm.startPrank(payer);
        USDC.approve(address(MINTER), paid);
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

    function giftDollars(uint256 amount) external observed {
        USDC.mint(address(MINTER), bound(amount, 1, MAX));
    }

    function wait(uint256 duration) external observed {
        vm.warp(block.timestamp + bound(duration, 1, 3 days));
    }

    /* WHAT NOBODY CAN DO */

    function tryWithoutRight(uint256 callerSeed, uint256 amount) external observed {
        address caller = actorOf(callerSeed);
        vm.startPrank(caller);
        vm.expectRevert(ITokenMinter.OnlySettlement.selector);
        MINTER.payOut(caller, amount);
        vm.expectRevert(IInferenceToken.OnlyMinter.selector);
        TOKEN.mint(caller, amount);
        vm.expectRevert(IInferenceToken.OnlySettlement.selector);
        TOKEN.burn(actorOf(amount), amount);
        vm.expectRevert(IInferenceToken.OnlyBridge.selector);
        TOKEN.crosschainMint(caller, amount);
        vm.expectRevert(IInferenceToken.OnlyBridge.selector);
        TOKEN.crosschainBurn(actorOf(amount), amount);
        vm.expectRevert(IInferenceSettlement.OnlyMinter.selector);
        SETTLEMENT.activateMinted(amount, caller, caller);
        vm.stopPrank();
    }

    /// @dev Not for fuzzing: lets a mutant act under observation.
    function callObserved(address target, bytes calldata data) external observed {
        (bool ok,) = target.call(data);
        require(ok, "call failed");
    }

    /* OBSERVER */

    function creditSumNanoUsd() external view returns (uint256 sum) {
        for (uint256 i; i < actors.length; ++i) {
            sum += SETTLEMENT.creditNanoUsd(actors[i]);
        }
    }

    function tokenSum() external view returns (uint256 sum) {
        for (uint256 i; i < actors.length; ++i) {
            sum += TOKEN.balanceOf(actors[i]);
        }
    }

    function readAnnouncements() private {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].topics[0] != IInferenceSettlement.Activated.selector) continue;
            (uint256 amount, uint256 total, uint256 creditAfter,,) =
                abi.decode(logs[i].data, (uint256, uint256, uint256, uint32, bytes32));
            bool follows = uint256(logs[i].topics[1]) == lastId + 1 && total == announcedTotal + amount;
            bool credited = creditAfter == SETTLEMENT.creditNanoUsd(address(uint160(uint256(logs[i].topics[2]))));
            if (!follows || !credited) wrongAnnouncements++;
            lastId = uint256(logs[i].topics[1]);
            announcedTotal = total;
        }
    }

    /* HELPERS */

    function fund(uint256 payerSeed, uint256 amount) private returns (address payer, uint256 paid) {
        payer = actorOf(payerSeed);
        paid = bound(amount, 1, MAX);
        USDC.mint(payer, paid);
        pulled += paid;
    }

    function actorOf(uint256 seed) private view returns (address) {
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
