// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {GaslessTopUp} from "../src/GaslessTopUp.sol";
import {IActivator} from "../src/interfaces/IActivator.sol";
import {IGaslessTopUp} from "../src/interfaces/IGaslessTopUp.sol";
import {ITokenBridge} from "../src/interfaces/ITokenBridge.sol";
import {ITokenMinter} from "../src/interfaces/ITokenMinter.sol";
import {BaseTest} from "./helpers/BaseTest.sol";
import {SigningWallet} from "./helpers/SigningWallet.sol";

contract GaslessTopUpTest is BaseTest {
    uint256 private constant MAX = 1e18;

    GaslessTopUp private relayed;
    address private relay = makeAddr("relay");
    address private thief = makeAddr("thief");

    function setUp() public override {
        super.setUp();
        relayed = new GaslessTopUp(minter, usdc, ITokenBridge(address(0)));
    }

    /* AUTHORIZATION */

    /// @dev Whoever sends it: the credit, the fee and the payer's dollars are what the payer signed.
    function testFuzzAuthorization_dividesAsSigned(uint256 amount, uint256 fee, address sender, address account)
        public
    {
        (amount, fee) = (bound(amount, 1, MAX), bound(fee, 0, MAX));
        vm.assume(sender != address(0) && account != address(0));
        IGaslessTopUp.TopUp memory t = terms(account, amount, fee);
        usdc.mint(alice, amount + fee + 9);
        bytes memory signature = signAuthorized(aliceKey, t);
        vm.expectEmit(address(relayed));
        emit IGaslessTopUp.ToppedUp(relayed.idOf(t), alice, account, amount, fee, relay);
        vm.startPrank(sender);
        relayed.topUpWithAuthorization(t, signature);
        assertDivided(account, amount, fee);
        assertEq(usdc.balanceOf(alice), 9);

        vm.expectRevert("FiatTokenV2: authorization is used or canceled");
        relayed.topUpWithAuthorization(t, signature);
    }

    /// @dev A stolen relay key, or anyone who sees the signature, can change no term.
    function testAuthorization_everyTermIsSigned() public {
        usdc.mint(alice, 100);
        IGaslessTopUp.TopUp memory t = terms(alice, 60, 10);
        bytes memory signature = signAuthorized(aliceKey, t);
        IGaslessTopUp.TopUp[] memory forged = changed(t);
        for (uint256 i; i < forged.length; ++i) {
            vm.expectRevert("FiatTokenV2: invalid signature");
            relayed.topUpWithAuthorization(forged[i], signature);
        }
        // Nobody but the contract can use the authorization on the stablecoin.
        bytes32 id = relayed.idOf(t);
        (bytes32 r, bytes32 s) = (word(signature, 0), word(signature, 32));
        vm.expectRevert("FiatTokenV2: caller must be the payee");
        usdc.receiveWithAuthorization(alice, address(relayed), 70, 0, t.deadline, id, uint8(signature[64]), r, s);
        relayed.topUpWithAuthorization(t, signature);
        assertDivided(alice, 60, 10);
    }

    function testAuthorization_expired() public {
        usdc.mint(alice, 70);
        IGaslessTopUp.TopUp memory t = terms(alice, 60, 10);
        bytes memory signature = signAuthorized(aliceKey, t);
        vm.warp(t.deadline);
        vm.expectRevert("FiatTokenV2: authorization is expired");
        relayed.topUpWithAuthorization(t, signature);
    }

    function testAuthorization_signerThatIsAContract() public {
        SigningWallet wallet = new SigningWallet();
        usdc.mint(address(wallet), 70);
        IGaslessTopUp.TopUp memory t = terms(bob, 60, 10);
        t.owner = address(wallet);
        vm.expectRevert("FiatTokenV2: invalid signature");
        relayed.topUpWithAuthorization(t, "any length");
        wallet.accept(digestOf(usdc.DOMAIN_SEPARATOR(), authorizationHash(t)));
        relayed.topUpWithAuthorization(t, "any length");
        assertDivided(bob, 60, 10);
    }

    /// @dev If the fee or the credit cannot be paid, nothing is.
    function testAuthorization_blockedRelay() public {
        usdc.mint(alice, 70);
        usdc.blacklist(relay);
        IGaslessTopUp.TopUp memory t = terms(alice, 60, 10);
        bytes memory signature = signAuthorized(aliceKey, t);
        vm.expectRevert("Blacklistable: account is blacklisted");
        relayed.topUpWithAuthorization(t, signature);
        assertEq(usdc.balanceOf(alice), 70);
        assertFalse(usdc.authorizationState(alice, relayed.idOf(t)));
    }

    function testAuthorization_nativeCoinOnThePrimaryChain() public {
        usdc.mint(alice, 70);
        IGaslessTopUp.TopUp memory t = terms(alice, 60, 10);
        bytes memory signature = signAuthorized(aliceKey, t);
        vm.deal(address(this), 1);
        vm.expectRevert(IActivator.NoMessageFee.selector);
        relayed.topUpWithAuthorization{value: 1}(t, signature);
    }

    /* PERMIT */

    function testFuzzPermit_dividesAsSigned(uint256 amount, uint256 fee, bool isFrontRun) public {
        (amount, fee) = (bound(amount, 1, MAX), bound(fee, 0, MAX));
        usdc.mint(alice, 2 * (amount + fee));
        IGaslessTopUp.TopUp memory t = terms(bob, amount, fee);
        bytes memory signature = sign(aliceKey, domain(), relayed.idOf(t));
        ITokenMinter.Permit memory permit = signPermitFor(amount + fee);
        if (isFrontRun) {
            usdc.permit(alice, address(relayed), amount + fee, permit.deadline, permit.v, permit.r, permit.s);
        }
        relayed.topUpWithPermit(t, signature, permit);
        assertDivided(bob, amount, fee);
        assertTrue(relayed.isMade(relayed.idOf(t)));

        // Not even a new allowance pays it again.
        vm.prank(alice);
        usdc.approve(address(relayed), type(uint256).max);
        bytes32 id = relayed.idOf(t);
        vm.expectRevert(abi.encodeWithSelector(IGaslessTopUp.AlreadyMade.selector, id));
        relayed.topUpWithPermit(t, signature, permit);
    }

    /// @dev An allowance is worth nothing to a thief: each use needs the owner's signature of all terms.
    function testPermit_allowanceNeedsTheOwnersSignature() public {
        usdc.mint(alice, 100);
        vm.prank(alice);
        usdc.approve(address(relayed), type(uint256).max);
        ITokenMinter.Permit memory none;
        IGaslessTopUp.TopUp memory t = terms(alice, 60, 10);
        bytes memory signature = sign(aliceKey, domain(), relayed.idOf(t));
        IGaslessTopUp.TopUp[] memory forged = changed(t);
        for (uint256 i; i < forged.length; ++i) {
            vm.expectRevert(IGaslessTopUp.InvalidSignature.selector);
            relayed.topUpWithPermit(forged[i], signature, none);
        }
        // A signature for the same contract on another chain.
        vm.chainId(5);
        vm.expectRevert(IGaslessTopUp.InvalidSignature.selector);
        relayed.topUpWithPermit(t, signature, none);
        vm.chainId(31_337);
        vm.warp(t.deadline);
        vm.expectRevert(abi.encodeWithSelector(IGaslessTopUp.Expired.selector, t.deadline));
        relayed.topUpWithPermit(t, signature, none);
        vm.warp(t.deadline - 1);
        relayed.topUpWithPermit(t, signature, none);
        assertDivided(alice, 60, 10);
    }

    function testPermit_tooFewDollars() public {
        usdc.mint(alice, 69);
        IGaslessTopUp.TopUp memory t = terms(alice, 60, 10);
        bytes memory signature = sign(aliceKey, domain(), relayed.idOf(t));
        ITokenMinter.Permit memory permit = signPermitFor(70);
        vm.expectRevert("ERC20: transfer amount exceeds balance");
        relayed.topUpWithPermit(t, signature, permit);
        assertFalse(relayed.isMade(relayed.idOf(t)));
    }

    /* HELPERS */

    function terms(address account, uint256 amount, uint256 fee) private view returns (IGaslessTopUp.TopUp memory) {
        return IGaslessTopUp.TopUp(alice, account, amount, fee, relay, block.timestamp + 10 minutes, "salt");
    }

    /// @dev The same with one term changed. Together `amount` and `fee` still make the signed value.
    function changed(IGaslessTopUp.TopUp memory t) private view returns (IGaslessTopUp.TopUp[] memory list) {
        list = new IGaslessTopUp.TopUp[](6);
        for (uint256 i; i < list.length; ++i) {
            list[i] = IGaslessTopUp.TopUp(t.owner, t.account, t.amount, t.fee, t.feeTo, t.deadline, t.salt);
        }
        list[0].account = thief;
        (list[1].amount, list[1].fee) = (t.amount - 1, t.fee + 1);
        list[2].feeTo = thief;
        list[3].deadline = t.deadline + 1;
        list[4].salt = "other";
        list[5].owner = thief;
    }

    /// @dev The relay has the fee, the account the credit, and nothing stays.
    function assertDivided(address account, uint256 amount, uint256 fee) private view {
        assertEq(settlement.creditNanoUsd(account), amount * 1000, "credit");
        assertEq(usdc.balanceOf(relay), fee, "fee");
        assertEq(minter.backing(), amount, "backing");
        assertEq(usdc.balanceOf(address(relayed)), 0, "kept");
    }

    function authorizationHash(IGaslessTopUp.TopUp memory t) private view returns (bytes32) {
        return keccak256(
            abi.encode(RECEIVE_TYPEHASH, t.owner, address(relayed), t.amount + t.fee, 0, t.deadline, relayed.idOf(t))
        );
    }

    function signAuthorized(uint256 key, IGaslessTopUp.TopUp memory t) private view returns (bytes memory) {
        return sign(key, usdc.DOMAIN_SEPARATOR(), authorizationHash(t));
    }

    function signPermitFor(uint256 value) private view returns (ITokenMinter.Permit memory) {
        bytes32 message =
            keccak256(abi.encode(PERMIT_TYPEHASH, alice, address(relayed), value, usdc.nonces(alice), block.timestamp));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(aliceKey, digestOf(usdc.DOMAIN_SEPARATOR(), message));
        return ITokenMinter.Permit(block.timestamp, v, r, s);
    }

    function domain() private view returns (bytes32) {
        (, string memory name, string memory version, uint256 chainId, address verifier,,) = relayed.eip712Domain();
        return keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256(bytes(name)),
                keccak256(bytes(version)),
                chainId,
                verifier
            )
        );
    }

    function sign(uint256 key, bytes32 separator, bytes32 structHash) private pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digestOf(separator, structHash));
        return abi.encodePacked(r, s, v);
    }

    function digestOf(bytes32 separator, bytes32 structHash) private pure returns (bytes32) {
        return keccak256(abi.encodePacked("\x19\x01", separator, structHash));
    }

    function word(bytes memory data, uint256 from) private pure returns (bytes32 result) {
        assembly ("memory-safe") {
            result := mload(add(add(data, 0x20), from))
        }
    }
}
