// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {InferenceToken} from "../src/InferenceToken.sol";
import {TokenBackingOutbox} from "../src/TokenBackingOutbox.sol";
import {TokenMinter} from "../src/TokenMinter.sol";
import {IDollarBridge} from "../src/interfaces/IDollarBridge.sol";
import {IInferenceSettlement} from "../src/interfaces/IInferenceSettlement.sol";
import {IStablecoin} from "../src/interfaces/IStablecoin.sol";
import {ITokenBackingOutbox} from "../src/interfaces/ITokenBackingOutbox.sol";
import {ITokenMinter} from "../src/interfaces/ITokenMinter.sol";
import {BaseTest} from "./helpers/BaseTest.sol";
import {FalseDollar, FeeDollar, PlainDollar, ReentrantDollar} from "./helpers/Dollars.sol";

contract TokenMinterTest is BaseTest {
    uint256 internal constant MAX = type(uint96).max / 1000;

    /* CONSTRUCTOR */

    function testConstructor_primary() public view {
        assertEq(address(minter.TOKEN()), address(token));
        assertEq(address(minter.STABLECOIN()), address(usdc));
        assertEq(address(minter.SETTLEMENT()), address(settlement));
        assertEq(address(minter.OUTBOX()), address(0));
        assertEq(minter.SCALE(), 1);
        assertEq(minter.backing(), 0);
    }

    function testFuzzConstructor_decimals(uint8 decimals) public {
        IStablecoin dollar = IStablecoin(address(new PlainDollar(decimals)));
        if (decimals < 6 || decimals > 18) {
            vm.expectRevert(abi.encodeWithSelector(ITokenMinter.UnsupportedDecimals.selector, decimals));
            newMinter(token, dollar, settlement, ITokenBackingOutbox(address(0)));
        } else {
            TokenMinter ownMinter = newMinter(token, dollar, settlement, ITokenBackingOutbox(address(0)));
            assertEq(ownMinter.SCALE() * 1e6, 10 ** decimals);
        }
    }

    function testConstructor_neitherOrBothOfSettlementAndOutbox() public {
        vm.expectRevert(ITokenMinter.AmbiguousChain.selector);
        newMinter(token, usdc, IInferenceSettlement(address(0)), ITokenBackingOutbox(address(0)));
        vm.expectRevert(ITokenMinter.AmbiguousChain.selector);
        newMinter(token, usdc, settlement, ITokenBackingOutbox(address(1)));
    }

    /* MINT */

    function testFuzzMint_oneForOne(uint256 amount) public {
        amount = bound(amount, 1, MAX);
        fund(alice, amount);
        vm.expectEmit(address(minter));
        emit ITokenMinter.Minted(alice, alice, amount, amount);
        vm.prank(alice);
        minter.mint(amount);
        assertBooks(amount, amount, 0);
        assertEq(token.balanceOf(alice), amount);
        assertEq(usdc.balanceOf(alice), 0);
    }

    function testFuzzMint_toAnotherRecipient(uint256 first, uint256 second) public {
        first = bound(first, 1, MAX);
        second = bound(second, 1, MAX);
        fund(alice, first + second);
        vm.startPrank(alice);
        minter.mint(first, bob);
        vm.expectEmit(address(minter));
        emit ITokenMinter.Minted(alice, bob, second, first + second);
        minter.mint(second, bob);
        assertBooks(first + second, first + second, 0);
        assertEq(token.balanceOf(bob), first + second);
    }

    function testMint_zeroAmount() public {
        ITokenMinter.Permit memory permit;
        ITokenMinter.Authorization memory authorization;
        vm.startPrank(alice);
        vm.expectRevert(ITokenMinter.ZeroAmount.selector);
        minter.mint(0);
        vm.expectRevert(ITokenMinter.ZeroAmount.selector);
        minter.mint(0, bob);
        vm.expectRevert(ITokenMinter.ZeroAmount.selector);
        minter.mintWithPermit(0, bob, permit);
        vm.expectRevert(ITokenMinter.ZeroAmount.selector);
        minter.mintWithAuthorization(0, bob, authorization);
        vm.expectRevert(ITokenMinter.ZeroAmount.selector);
        minter.mintAndActivate(0, bob);
        vm.expectRevert(ITokenMinter.ZeroAmount.selector);
        minter.mintAndActivateWithPermit(0, bob, permit);
        vm.expectRevert(ITokenMinter.ZeroAmount.selector);
        minter.mintAndActivateWithAuthorization(0, bob, authorization);
    }

    function testMint_zeroRecipient() public {
        fund(alice, 1);
        vm.expectRevert(abi.encodeWithSelector(IERC20Errors.ERC20InvalidReceiver.selector, address(0)));
        vm.prank(alice);
        minter.mint(1, address(0));
    }

    function testMint_withoutAllowance() public {
        usdc.mint(alice, 1);
        vm.expectRevert("ERC20: transfer amount exceeds allowance");
        vm.prank(alice);
        minter.mint(1);
    }

    function testMint_withoutDollars() public {
        vm.startPrank(alice);
        usdc.approve(address(minter), 1);
        vm.expectRevert("ERC20: transfer amount exceeds balance");
        minter.mint(1);
    }

    /// @dev If the issuer pauses the stablecoin or blocks the minter, minting stops; tokens and activation still work.
    function testMint_dollarPausedOrMinterBlocked() public {
        fundToken(alice, 10);
        fund(alice, 2);
        usdc.blacklist(address(minter));
        vm.startPrank(alice);
        vm.expectRevert("Blacklistable: account is blacklisted");
        minter.mint(1);
        settlement.activate(4);
        assertTrue(token.transfer(bob, 1));
        vm.stopPrank();

        usdc.pause();
        vm.startPrank(alice);
        vm.expectRevert("Pausable: paused");
        minter.mint(1);
        settlement.activate(5);
        assertEq(token.balanceOf(alice), 0);
        assertBooks(10, 1, 9_000);
    }

    function testFuzzMint_giftedDollarsAreNotBooked(uint256 gift, uint256 amount) public {
        gift = bound(gift, 1, MAX);
        amount = bound(amount, 1, MAX);
        usdc.mint(address(minter), gift);
        fund(alice, amount);
        vm.prank(alice);
        minter.mint(amount);
        assertBooks(amount, amount, 0);
        assertEq(usdc.balanceOf(address(minter)), amount + gift);
    }

    /* PERMIT */

    function testFuzzMintWithPermit_needsNoAllowanceBefore(uint256 amount) public {
        amount = bound(amount, 1, MAX);
        usdc.mint(alice, amount);
        ITokenMinter.Permit memory permit = signPermit(aliceKey, amount, block.timestamp);
        vm.prank(alice);
        minter.mintWithPermit(amount, bob, permit);
        assertBooks(amount, amount, 0);
        assertEq(token.balanceOf(bob), amount);
        assertEq(usdc.allowance(alice, address(minter)), 0);
    }

    function testMintWithPermit_submittedFirstByAnother() public {
        usdc.mint(alice, 2);
        ITokenMinter.Permit memory permit = signPermit(aliceKey, 2, block.timestamp);
        vm.prank(bob);
        usdc.permit(alice, address(minter), 2, permit.deadline, permit.v, permit.r, permit.s);
        vm.prank(alice);
        minter.mintWithPermit(2, alice, permit);
        assertEq(token.balanceOf(alice), 2);
    }

    /// @dev A permit is valid for its caller only, so a stolen permit is useless.
    function testMintWithPermit_ofAnotherOwner() public {
        usdc.mint(alice, 2);
        usdc.mint(bob, 2);
        ITokenMinter.Permit memory permit = signPermit(aliceKey, 2, block.timestamp);
        vm.startPrank(bob);
        vm.expectRevert("ERC20: transfer amount exceeds allowance");
        minter.mintWithPermit(2, bob, permit);
        vm.expectRevert("ERC20: transfer amount exceeds allowance");
        minter.mintAndActivateWithPermit(2, bob, permit);
    }

    function testMintWithPermit_dollarWithoutPermit() public {
        (TokenMinter ownMinter, PlainDollar dollar) = deployMinterFor(new PlainDollar(6));
        dollar.mint(alice, 5);
        ITokenMinter.Permit memory permit;
        vm.startPrank(alice);
        dollar.approve(address(ownMinter), 5);
        ownMinter.mintWithPermit(5, alice, permit);
        assertEq(ownMinter.backing(), 5);
    }

    /* AUTHORIZATION */

    function testFuzzMintWithAuthorization_anyoneSubmits(uint256 amount, address submitter) public {
        amount = bound(amount, 1, MAX);
        usdc.mint(alice, amount);
        ITokenMinter.Authorization memory authorization =
            signAuthorization(aliceKey, amount, ITokenMinter.Action.Mint, bob, "salt");
        vm.expectEmit(address(minter));
        emit ITokenMinter.Minted(alice, bob, amount, amount);
        vm.prank(submitter);
        minter.mintWithAuthorization(amount, bob, authorization);
        assertBooks(amount, amount, 0);
        assertEq(token.balanceOf(bob), amount);
    }

    function testMintWithAuthorization_cannotBeRedirected() public {
        usdc.mint(alice, 2);
        ITokenMinter.Authorization memory authorization =
            signAuthorization(aliceKey, 2, ITokenMinter.Action.Mint, alice, "salt");
        vm.startPrank(bob);
        vm.expectRevert("FiatTokenV2: invalid signature");
        minter.mintWithAuthorization(2, bob, authorization);
        vm.expectRevert("FiatTokenV2: invalid signature");
        minter.mintAndActivateWithAuthorization(2, alice, authorization);
        vm.expectRevert("FiatTokenV2: invalid signature");
        minter.mintWithAuthorization(1, alice, authorization);
        bytes32 nonce = minter.authorizationNonce(ITokenMinter.Action.Mint, alice, "salt");
        vm.expectRevert("FiatTokenV2: caller must be the payee");
        usdc.receiveWithAuthorization(
            alice,
            address(minter),
            2,
            0,
            authorization.validBefore,
            nonce,
            authorization.v,
            authorization.r,
            authorization.s
        );
    }

    function testMintWithAuthorization_twice() public {
        usdc.mint(alice, 4);
        ITokenMinter.Authorization memory authorization =
            signAuthorization(aliceKey, 2, ITokenMinter.Action.Mint, alice, "salt");
        minter.mintWithAuthorization(2, alice, authorization);
        vm.expectRevert("FiatTokenV2: authorization is used or canceled");
        minter.mintWithAuthorization(2, alice, authorization);
    }

    function testMintWithAuthorization_expired() public {
        usdc.mint(alice, 2);
        ITokenMinter.Authorization memory authorization =
            signAuthorization(aliceKey, 2, ITokenMinter.Action.Mint, alice, "salt");
        vm.warp(authorization.validBefore);
        vm.expectRevert("FiatTokenV2: authorization is expired");
        minter.mintWithAuthorization(2, alice, authorization);
    }

    function testFuzzAuthorizationNonce_commitsToEverything(address recipient, address other, bytes32 salt)
        public
        view
    {
        bytes32 nonce = minter.authorizationNonce(ITokenMinter.Action.Mint, recipient, salt);
        assertEq(nonce, keccak256(abi.encode(0, recipient, salt)));
        assertNotEq(nonce, minter.authorizationNonce(ITokenMinter.Action.Activate, recipient, salt));
        assertNotEq(nonce, minter.authorizationNonce(ITokenMinter.Action.Mint, recipient, ~salt));
        if (other != recipient) assertNotEq(nonce, minter.authorizationNonce(ITokenMinter.Action.Mint, other, salt));
    }

    /* MINT AND ACTIVATE */

    function testFuzzMintAndActivate_creditWithoutToken(uint256 amount) public {
        // An account's total has 80 bits, in nano-dollars.
        amount = bound(amount, 1, type(uint80).max / 1000);
        fund(alice, amount);
        vm.expectEmit(address(minter));
        emit ITokenMinter.MintedAndActivated(alice, bob, amount, amount);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Activated(1, bob, alice, amount, amount, amount * 1000, 0, 0);
        vm.prank(alice);
        minter.mintAndActivate(amount, bob);
        assertBooks(amount, 0, amount * 1000);
        assertEq(settlement.creditNanoUsd(bob), amount * 1000);
    }

    function testMintAndActivate_zeroAccount() public {
        fund(alice, 1);
        vm.expectRevert(IInferenceSettlement.ZeroAccount.selector);
        vm.prank(alice);
        minter.mintAndActivate(1, address(0));
    }

    function testMintAndActivateWithPermit_frontRunOrNot() public {
        usdc.mint(alice, 5);
        ITokenMinter.Permit memory permit = signPermit(aliceKey, 2, block.timestamp);
        vm.prank(alice);
        minter.mintAndActivateWithPermit(2, bob, permit);
        permit = signPermit(aliceKey, 3, block.timestamp);
        usdc.permit(alice, address(minter), 3, permit.deadline, permit.v, permit.r, permit.s);
        vm.prank(alice);
        minter.mintAndActivateWithPermit(3, bob, permit);
        assertBooks(5, 0, 5_000);
        assertEq(settlement.creditNanoUsd(bob), 5_000);
    }

    function testMintAndActivateWithAuthorization_creditsOnlyTheCommittedAccount() public {
        usdc.mint(alice, 2);
        ITokenMinter.Authorization memory authorization =
            signAuthorization(aliceKey, 2, ITokenMinter.Action.Activate, alice, "salt");
        vm.startPrank(bob);
        vm.expectRevert("FiatTokenV2: invalid signature");
        minter.mintAndActivateWithAuthorization(2, bob, authorization);
        vm.expectRevert("FiatTokenV2: invalid signature");
        minter.mintWithAuthorization(2, alice, authorization);
        vm.expectEmit(address(settlement));
        emit IInferenceSettlement.Activated(1, alice, alice, 2, 2, 2_000, 0, 0);
        minter.mintAndActivateWithAuthorization(2, alice, authorization);
        assertBooks(2, 0, 2_000);
    }

    /* PAY OUT */

    function testFuzzPayOut_settlementOnly(address caller, uint256 amount, uint256 paid) public {
        amount = bound(amount, 1, MAX);
        paid = bound(paid, 0, amount);
        fundToken(alice, amount);
        vm.expectEmit(address(minter));
        emit ITokenMinter.PaidOut(bob, paid, amount - paid);
        vm.prank(address(settlement));
        minter.payOut(bob, paid);
        assertEq(minter.backing(), amount - paid);
        assertEq(usdc.balanceOf(bob), paid);
        assertEq(usdc.balanceOf(address(minter)), amount - paid);

        expectOnly(caller, address(settlement), ITokenMinter.OnlySettlement.selector);
        minter.payOut(caller, 0);
    }

    function testPayOut_moreThanBacking() public {
        fundToken(alice, 5);
        usdc.mint(address(minter), 1);
        vm.expectRevert(abi.encodeWithSelector(ITokenMinter.InsufficientBacking.selector, 6, 5));
        vm.prank(address(settlement));
        minter.payOut(bob, 6);
    }

    function testPayOut_blockedPayeeLosesNothing() public {
        fundToken(alice, 5);
        usdc.blacklist(bob);
        vm.expectRevert("Blacklistable: account is blacklisted");
        vm.prank(address(settlement));
        minter.payOut(bob, 5);
        assertEq(minter.backing(), 5);
    }

    /* OTHER DOLLARS */

    function testFuzzMint_eighteenDecimals(uint256 amount) public {
        amount = bound(amount, 1, MAX);
        (TokenMinter ownMinter, PlainDollar dollar) = deployMinterFor(new PlainDollar(18));
        dollar.mint(alice, amount * 1e12);
        vm.startPrank(alice);
        dollar.approve(address(ownMinter), amount * 1e12);
        ownMinter.mint(amount);
        vm.stopPrank();
        assertEq(ownMinter.TOKEN().balanceOf(alice), amount);
        assertEq(ownMinter.backing(), amount);
        assertEq(dollar.balanceOf(address(ownMinter)), amount * 1e12);

        vm.prank(address(settlement));
        ownMinter.payOut(bob, amount);
        assertEq(dollar.balanceOf(bob), amount * 1e12);
    }

    function testMint_feeOnTransfer() public {
        (TokenMinter ownMinter, PlainDollar dollar) = deployMinterFor(new FeeDollar());
        dollar.mint(alice, 10);
        vm.startPrank(alice);
        dollar.approve(address(ownMinter), 10);
        vm.expectRevert(abi.encodeWithSelector(ITokenMinter.WrongAmountReceived.selector, 10, 9));
        ownMinter.mint(10);
    }

    function testMint_stablecoinThatReturnsFalse() public {
        (TokenMinter ownMinter, PlainDollar dollar) = deployMinterFor(new FalseDollar());
        dollar.mint(alice, 10);
        vm.startPrank(alice);
        dollar.approve(address(ownMinter), 10);
        vm.expectRevert(abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, address(dollar)));
        ownMinter.mint(10);
    }

    /// @dev Without the reentrancy guard, the outer call would count the inner call's dollars as its own.
    function testMint_reentered() public {
        ReentrantDollar dollar = new ReentrantDollar();
        (TokenMinter ownMinter,) = deployMinterFor(dollar);
        ITokenMinter.Permit memory permit;
        ITokenMinter.Authorization memory authorization;
        dollar.mint(alice, 10);
        vm.startPrank(alice);
        dollar.approve(address(ownMinter), 10);
        bytes[] memory calls = new bytes[](10);
        calls[0] = abi.encodeWithSignature("mint(uint256)", 1);
        calls[1] = abi.encodeWithSignature("mint(uint256,address)", 1, alice);
        calls[2] = abi.encodeCall(ownMinter.mintWithPermit, (1, alice, permit));
        calls[3] = abi.encodeCall(ownMinter.mintWithAuthorization, (1, alice, authorization));
        calls[4] = abi.encodeCall(ownMinter.mintAndActivate, (1, alice));
        calls[5] = abi.encodeCall(ownMinter.mintAndActivateWithPermit, (1, alice, permit));
        calls[6] = abi.encodeCall(ownMinter.mintAndActivateWithAuthorization, (1, alice, authorization));
        calls[7] = abi.encodeCall(ownMinter.payOut, (alice, 1));
        calls[8] = abi.encodeCall(ownMinter.fundFloat, (EID_1, 1));
        calls[9] = abi.encodeCall(ownMinter.book, (EID_1));
        for (uint256 i; i < calls.length; ++i) {
            dollar.setReentry(calls[i]);
            vm.expectRevert(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
            ownMinter.mint(1);
        }
    }

    /* SECONDARY CHAIN */

    function testFuzzMint_secondaryPassesDollarsToTheOutbox(uint256 amount) public {
        amount = bound(amount, 1, MAX);
        TokenBackingOutbox outbox = becomeSecondary();
        fund(alice, amount);
        vm.expectEmit(address(minter));
        emit ITokenMinter.Minted(alice, bob, amount, 0);
        vm.prank(alice);
        minter.mint(amount, bob);
        assertEq(token.balanceOf(bob), amount);
        assertEq(minter.backing(), 0);
        assertEq(usdc.balanceOf(address(minter)), 0);
        assertEq(usdc.balanceOf(address(outbox)), amount);
        assertEq(outbox.pending(), amount);
    }

    function testMintWithAuthorization_secondary() public {
        TokenBackingOutbox outbox = becomeSecondary();
        usdc.mint(alice, 7);
        minter.mintWithAuthorization(7, bob, signAuthorization(aliceKey, 7, ITokenMinter.Action.Mint, bob, "salt"));
        assertEq(token.balanceOf(bob), 7);
        assertEq(usdc.balanceOf(address(outbox)), 7);
        assertEq(outbox.pending(), 7);
    }

    function testMintAndActivate_secondary() public {
        becomeSecondary();
        fund(alice, 1);
        vm.startPrank(alice);
        vm.expectRevert(ITokenMinter.NoSettlement.selector);
        minter.mintAndActivate(1, alice);
    }

    function testPayOut_secondary() public {
        becomeSecondary();
        vm.expectRevert(ITokenMinter.OnlySettlement.selector);
        minter.payOut(alice, 0);
    }

    /* HELPERS */

    function assertBooks(uint256 backing, uint256 supply, uint256 creditNanoUsd) private view {
        assertEq(minter.backing(), backing, "backing");
        assertEq(token.totalSupply(), supply, "supply");
        assertEq(settlement.totalCreditNanoUsd(), creditNanoUsd, "credit");
    }

    /// @dev A separate minter, for a stablecoin other than USDC.
    function deployMinterFor(PlainDollar dollar) private returns (TokenMinter ownMinter, PlainDollar) {
        address predicted = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 1);
        InferenceToken ownToken = new InferenceToken(predicted, bridge, address(settlement));
        ownMinter = newMinter(ownToken, IStablecoin(address(dollar)), settlement, ITokenBackingOutbox(address(0)));
        return (ownMinter, dollar);
    }

    /// @dev Deploys the minter with the wiring of a secondary chain.
    function becomeSecondary() private returns (TokenBackingOutbox outbox) {
        address predicted = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 2);
        outbox = new TokenBackingOutbox(predicted, usdc, timelock, IDollarBridge(address(0)));
        token = new InferenceToken(predicted, bridge, address(0));
        minter = newMinter(token, usdc, IInferenceSettlement(address(0)), outbox);
    }

    function newMinter(
        InferenceToken ownToken,
        IStablecoin dollar,
        IInferenceSettlement ownSettlement,
        ITokenBackingOutbox outbox
    ) private returns (TokenMinter) {
        return new TokenMinter(ownToken, dollar, ownSettlement, outbox, bridge, new ITokenMinter.Inbox[](0));
    }
}
