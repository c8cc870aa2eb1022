// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {Create3Factory} from "../src/Create3Factory.sol";
import {InferenceSettlement} from "../src/InferenceSettlement.sol";
import {TokenMinter} from "../src/TokenMinter.sol";
import {ITokenMinter} from "../src/interfaces/ITokenMinter.sol";
import {BaseTest} from "./helpers/BaseTest.sol";

/// @notice The lines of {TokenMinter}, and its functions for settlement and bridge only.
contract LinesTest is BaseTest {
    uint256 internal constant MAX = type(uint96).max;

    /* BOOK */

    function testFuzzBook_onlyWhatArrivedAndToItsChain(uint256 arrived, uint256 elsewhere) public {
        arrived = bound(arrived, 1, MAX);
        elsewhere = bound(elsewhere, 1, MAX);
        usdc.mint(minter.inboxOf(EID_1), arrived);
        usdc.mint(minter.inboxOf(EID_2), elsewhere);
        usdc.mint(address(minter), 1);
        vm.expectEmit(address(minter));
        emit ITokenMinter.Booked(EID_1, arrived, arrived, arrived);
        vm.prank(bob);
        assertEq(minter.book(EID_1), arrived);
        assertLine(EID_1, arrived, 0);
        assertLine(EID_2, 0, 0);
        assertEq(minter.backing(), arrived);
        assertEq(minter.lineSum(), arrived);
        assertEq(usdc.balanceOf(minter.inboxOf(EID_1)), 0);
        assertEq(usdc.balanceOf(minter.inboxOf(EID_2)), elsewhere);
    }

    function testBook_nothingArrived() public {
        vm.expectRevert(abi.encodeWithSelector(ITokenMinter.NothingArrived.selector, EID_1));
        minter.book(EID_1);
    }

    function testBook_unknownChain() public {
        vm.expectRevert(abi.encodeWithSelector(ITokenMinter.UnknownChain.selector, 7));
        minter.book(7);
    }

    /// @dev A stablecoin with 18 decimals on the primary chain: whole token units are booked, and the rest stays.
    function testFuzzBook_eighteenDecimals(uint256 arrived, uint256 rest) public {
        arrived = bound(arrived, 1, MAX);
        rest = bound(rest, 0, 1e12 - 1);
        usdc = deployUsdc(18);
        factory = new Create3Factory(address(this));
        deployPrimary(type(TokenMinter).creationCode, type(InferenceSettlement).creationCode);
        usdc.mint(minter.inboxOf(EID_1), arrived * 1e12 + rest);
        assertEq(minter.book(EID_1), arrived);
        assertLine(EID_1, arrived, 0);
        assertEq(minter.backing(), arrived);
        assertEq(usdc.balanceOf(address(minter)), arrived * 1e12);
        assertEq(usdc.balanceOf(minter.inboxOf(EID_1)), rest);
    }

    /// @dev Only the minter can move dollars out of an inbox, and only in {book}.
    function testBook_inboxBlockedLosesNothing() public {
        address inbox = minter.inboxOf(EID_1);
        usdc.mint(inbox, 5);
        usdc.blacklist(inbox);
        vm.expectRevert("Blacklistable: account is blacklisted");
        minter.book(EID_1);
        assertEq(usdc.balanceOf(inbox), 5);
        assertEq(usdc.allowance(inbox, address(minter)), type(uint256).max);
    }

    /* FLOAT */

    function testFuzzFundFloat_giftsRealDollars(uint256 first, uint256 second) public {
        first = bound(first, 1, MAX);
        second = bound(second, 1, MAX);
        fund(alice, first + second);
        vm.startPrank(alice);
        minter.fundFloat(EID_2, first);
        vm.expectEmit(address(minter));
        emit ITokenMinter.FloatFunded(alice, EID_2, second, first + second, first + second);
        minter.fundFloat(EID_2, second);
        assertLine(EID_2, first + second, first + second);
        assertEq(minter.backing(), first + second);
        assertEq(usdc.balanceOf(address(minter)), first + second);
        assertEq(token.totalSupply(), 0);
    }

    function testFundFloat_refused() public {
        fund(alice, 1);
        vm.startPrank(alice);
        vm.expectRevert(ITokenMinter.ZeroAmount.selector);
        minter.fundFloat(EID_1, 0);
        vm.expectRevert(abi.encodeWithSelector(ITokenMinter.UnknownChain.selector, 7));
        minter.fundFloat(7, 1);
        vm.expectRevert("ERC20: transfer amount exceeds allowance");
        minter.fundFloat(EID_1, 2);
    }

    /* THE BRIDGE */

    function testFuzzDrawLine_transfersMayNotUseGifts(uint256 own, uint256 gifted, uint256 amount) public {
        own = bound(own, 0, MAX);
        gifted = bound(gifted, 1, MAX);
        amount = bound(amount, 1, 2 * MAX + 1);
        fund(alice, gifted);
        vm.prank(alice);
        minter.fundFloat(EID_1, gifted);
        vm.startPrank(bridge);
        minter.raiseLine(EID_1, own);
        assertEq(minter.drawLine(EID_1, amount, false), amount <= own);
        uint256 left = amount <= own ? own - amount : own;
        assertLine(EID_1, left + gifted, gifted);
        assertEq(minter.drawLine(EID_1, amount, true), amount <= left + gifted);
        assertLine(EID_1, amount <= left + gifted ? left + gifted - amount : left + gifted, gifted);
    }

    /// @dev If a chain's activations used the float, their dollars must arrive before its transfers are covered.
    function testDrawLine_activationsBeforeTheirDollars() public {
        fund(alice, 100);
        vm.prank(alice);
        minter.fundFloat(EID_1, 100);
        vm.startPrank(bridge);
        assertTrue(minter.drawLine(EID_1, 60, true));
        vm.stopPrank();
        usdc.mint(minter.inboxOf(EID_1), 140);
        minter.book(EID_1);
        vm.startPrank(bridge);
        assertFalse(minter.drawLine(EID_1, 81, false));
        assertTrue(minter.drawLine(EID_1, 80, false));
        assertFalse(minter.drawLine(EID_1, 1, false));
        assertTrue(minter.drawLine(EID_1, 100, true));
        assertFalse(minter.drawLine(EID_1, 1, true));
    }

    function testDrawLine_unknownChainHasNone() public {
        vm.prank(bridge);
        assertFalse(minter.drawLine(7, 1, true));
    }

    function testRaiseLine_unknownChainAndOverflow() public {
        vm.startPrank(bridge);
        vm.expectRevert(abi.encodeWithSelector(ITokenMinter.UnknownChain.selector, 7));
        minter.raiseLine(7, 1);
        uint256 amount = uint256(type(uint128).max) + 1;
        vm.expectRevert(abi.encodeWithSelector(SafeCast.SafeCastOverflowedUintDowncast.selector, 128, amount));
        minter.raiseLine(EID_1, amount);
    }

    function testFuzzLines_bridgeOnly(address caller) public {
        vm.assume(caller != bridge);
        vm.startPrank(caller);
        vm.expectRevert(ITokenMinter.OnlyBridge.selector);
        minter.raiseLine(EID_1, 1);
        vm.expectRevert(ITokenMinter.OnlyBridge.selector);
        minter.drawLine(EID_1, 0, true);
    }

    /* THE SETTLEMENT */

    function testFuzzMintBack_settlementOnly(address caller, uint256 amount) public {
        vm.assume(caller != address(settlement));
        amount = bound(amount, 1, MAX);
        vm.expectRevert(ITokenMinter.OnlySettlement.selector);
        vm.prank(caller);
        minter.mintBack(caller, amount);
        vm.expectEmit(address(minter));
        emit ITokenMinter.MintedBack(bob, amount);
        vm.prank(address(settlement));
        minter.mintBack(bob, amount);
        assertEq(token.balanceOf(bob), amount);
        assertEq(minter.backing(), 0);
    }

    function assertLine(uint32 eid, uint256 balance, uint256 gifted) private view {
        (uint256 actualBalance, uint256 actualGifted) = minter.lineOf(eid);
        assertEq(actualBalance, balance, "line");
        assertEq(actualGifted, gifted, "gifted");
    }
}
