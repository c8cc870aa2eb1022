// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IInferenceSettlement} from "../../src/interfaces/IInferenceSettlement.sol";
import {Handler} from "./Handler.sol";
import {IUsdc} from "./IUsdc.sol";
import {Flow} from "./Observer.sol";
import {Chain, ThreeChains} from "./ThreeChains.sol";

/// @notice The invariants of the three chains, each stated once. The numbers are those of the README of this package.
abstract contract Checks is ThreeChains {
    Handler internal handler;

    function startHandler() internal {
        Chain[3] memory all = [primary, one, two];
        handler = new Handler(settlement, pool, registry, all);
        usdc.configureMinter(address(handler), type(uint256).max);
        IUsdc(address(two.dollar)).configureMinter(address(handler), type(uint256).max);
        one.pool.transferOwnership(address(handler));
        two.pool.transferOwnership(address(handler));
    }

    /// @notice I1a: on the primary chain, backing = supply + credit + owed + lines, to the nano-dollar.
    function checkI1a() public view {
        IInferenceSettlement.Books memory books = settlement.books();
        assertEq(books.backing, books.supply + books.credit + books.owed + books.lines, "I1a");
    }

    /// @notice I1b: for each secondary chain, supply + messages in flight or waiting = line less gifts + outbox +
    /// flushed and not yet booked. Forged messages and gifts to an inbox are accounted for separately.
    function checkI1b() public view {
        checkI1b(1, one);
        checkI1b(2, two);
    }

    function checkI1b(uint256 index, Chain memory chain) private view {
        Flow memory flow = handler.flowOf(index);
        (uint256 line, uint256 gifted) = minter.lineOf(chain.lz.eid);
        uint256 messages = (flow.sentFrom - flow.deliveredFrom) + (flow.sentTo - flow.deliveredTo);
        uint256 dollarsInFlight = flow.flushed - flow.landed + inInbox(chain);
        uint256 owed = chain.token.totalSupply() + messages + gifted + flow.inboxGifts;
        uint256 held = line + chain.outbox.pending() + dollarsInFlight + flow.forgedFrom + flow.forgedTo;
        assertEq(owed, held, "I1b");
    }

    /// @notice I2: the real dollar balances cover the booked amounts.
    function checkI2() public view {
        assertGe(usdc.balanceOf(address(minter)), minter.backing() * minter.SCALE(), "I2 minter");
        checkOutbox(one);
        checkOutbox(two);
    }

    function checkOutbox(Chain memory chain) private view {
        uint256 real = chain.dollar.balanceOf(address(chain.outbox));
        assertGe(real, chain.outbox.pending() * chain.outbox.SCALE(), "I2 outbox");
    }

    /// @notice I3: credits, amounts owed (with what rounding keeps) and balances each sum to their totals.
    function checkI3() public view {
        assertEq(handler.creditSumNanoUsd(), settlement.totalCreditNanoUsd(), "I3 credit");
        assertEq(handler.owedSumNanoUsd(), settlement.totalOwedNanoUsd(), "I3 owed");
        assertEq(handler.tokenSum(0), token.totalSupply(), "I3 supply");
        assertEq(handler.tokenSum(1), one.token.totalSupply(), "I3 supply 1");
        assertEq(handler.tokenSum(2), two.token.totalSupply(), "I3 supply 2");
    }

    /// @notice I4: no line is below zero, and each equals the sum of its changes; no transfer drew on a gift; no
    /// secondary chain minted more than its daily cap.
    function checkI4() public view {
        checkLine(1, one);
        checkLine(2, two);
        assertEq(handler.giftBreaches(), 0, "I4 gifts");
        assertEq(handler.capBreaches(), 0, "I4 cap");
    }

    function checkLine(uint256 index, Chain memory chain) private view {
        Flow memory flow = handler.flowOf(index);
        (uint256 line, uint256 gifted) = minter.lineOf(chain.lz.eid);
        assertEq(line, flow.line, "I4 line");
        assertEq(gifted, flow.gifted, "I4 gifted");
        assertEq(flow.booked + inInbox(chain), flow.landed + flow.inboxGifts, "I4 inbox");
    }

    /// @dev The dollars of a chain that have arrived and are not booked, in token units.
    function inInbox(Chain memory chain) private view returns (uint256) {
        return usdc.balanceOf(minter.inboxOf(chain.lz.eid)) / minter.SCALE();
    }

    /// @notice I5: what was debited on a day never exceeded the ceiling at the time of each chunk.
    function checkI5() public view {
        assertEq(handler.ceilingBreaches(), 0, "I5 ceiling");
        assertTrue(handler.booksOfDaysAgree(), "I5 books");
    }

    /// @notice I6: what an agent served on a day never exceeds its capacity of that day.
    function checkI6() public view {
        assertEq(handler.capacityBreaches(), 0, "I6");
    }

    /// @notice I7: what minters issued, as tokens or credit, equals the dollars they received; what was minted back is
    /// a tenth of what agents served each account, less what is still owed.
    function checkI7() public view {
        for (uint256 i; i < 3; ++i) {
            Flow memory flow = handler.flowOf(i);
            assertEq(flow.issued, flow.pulled, "I7 par mint");
        }
        assertEq(handler.mintedBack() + handler.owedBackSumNanoUsd(), handler.backDue(), "I7 back");
        (Flow memory a, Flow memory b) = (handler.flowOf(1), handler.flowOf(2));
        uint256 arrived = a.deliveredFrom + a.forgedFrom + b.deliveredFrom + b.forgedFrom;
        uint256 came = handler.flowOf(0).pulled + handler.mintedBack() / 1000 + arrived;
        assertEq(token.totalSupply() + settlement.totalActivated() + a.sentTo + b.sentTo, came, "I7 supply");
    }

    /// @notice I8: backing leaves only through the settlement, for amounts that were debited; an outbox's dollars leave
    /// only through its adapter.
    function checkI8() public view {
        assertEq(handler.backingLosses(), 0, "I8 backing");
        assertEq(handler.outboxLosses(), 0, "I8 outbox");
        (Flow memory a, Flow memory b) = (handler.flowOf(1), handler.flowOf(2));
        uint256 came = handler.flowOf(0).pulled + a.booked + a.gifted + b.booked + b.gifted;
        assertEq(minter.backing() + handler.paidOut(), came, "I8 sum");
        uint256 used = handler.paidOut() * 1000 + handler.mintedBack() + settlement.totalOwedNanoUsd();
        assertEq(used, handler.debited(), "I8 debits");
    }

    /// @notice I9: each activation, record and message takes effect once, as its event states.
    function checkI9() public view {
        assertEq(handler.wrongAnnouncements(), 0, "I9 activations");
        assertEq(handler.lastId(), settlement.activationCount(), "I9 activation count");
        assertEq(handler.announcedTotal(), settlement.totalActivated(), "I9 activation total");
        assertTrue(handler.accountsAgree(), "I9 accounts");
        assertEq(handler.wrongChunks(), 0, "I9 chunks");
        assertEq(handler.debited(), settlement.totalDebitedNanoUsd(), "I9 debits");
        assertEq(handler.doubleDeliveries(), 0, "I9 messages");
    }
}
