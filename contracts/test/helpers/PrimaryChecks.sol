// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {BaseTest} from "./BaseTest.sol";
import {PrimaryHandler} from "./PrimaryHandler.sol";

/// @notice The invariants of the primary chain, each stated once. Numbers as in the README of this package.
abstract contract PrimaryChecks is BaseTest {
    PrimaryHandler internal handler;

    function startHandler() internal {
        handler = new PrimaryHandler(usdc, token, minter, settlement);
        usdc.configureMinter(address(handler), type(uint256).max);
    }

    /// @notice I1a: backing = supply + credit, to the nano-dollar.
    function checkI1a() public view {
        assertEq(minter.backing() * 1000, token.totalSupply() * 1000 + settlement.totalCreditNanoUsd(), "I1a");
    }

    /// @notice I2: the real dollars cover the books.
    function checkI2() public view {
        assertGe(usdc.balanceOf(address(minter)), minter.backing() * minter.SCALE(), "I2");
    }

    /// @notice I3: credits and balances sum to their totals.
    function checkI3() public view {
        assertEq(handler.creditSumNanoUsd(), settlement.totalCreditNanoUsd(), "I3 credit");
        assertEq(handler.tokenSum(), token.totalSupply(), "I3 supply");
    }

    /// @notice I7: what the door gave, as tokens or as credit, is what it took.
    function checkI7() public view {
        assertEq(token.totalSupply() + settlement.totalActivated(), handler.pulled(), "I7");
    }

    /// @notice I8: nothing is booked out that the settlement did not pay; it pays nothing yet.
    function checkI8() public view {
        assertEq(handler.backingLosses(), 0, "I8 losses");
        assertEq(minter.backing(), handler.pulled(), "I8 sum");
    }

    /// @notice I9: each activation is announced once, in order, with its running total.
    function checkI9() public view {
        assertEq(handler.wrongAnnouncements(), 0, "I9 sequence");
        assertEq(handler.lastId(), settlement.activationCount(), "I9 count");
        assertEq(handler.announcedTotal(), settlement.totalActivated(), "I9 total");
    }
}
