// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IOFT, OFTFeeDetail, OFTLimit, OFTReceipt} from "@layerzerolabs/oft-evm/contracts/interfaces/IOFT.sol";

import {OftDollarBridge} from "../src/OftDollarBridge.sol";
import {IDollarBridge} from "../src/interfaces/IDollarBridge.sol";
import {ITokenBackingOutbox} from "../src/interfaces/ITokenBackingOutbox.sol";
import {PathwayConfig} from "../src/libraries/PathwayConfig.sol";
import {PlainDollar} from "./helpers/Dollars.sol";
import {Packet} from "./helpers/LayerZero.sol";
import {OftPool} from "./helpers/OftPool.sol";
import {Chain, ThreeChains} from "./helpers/ThreeChains.sol";

/// @notice The outbox with its adapter, a real OFT pool behind it and the inbox that receives. The stablecoin of chain
/// 1 has 18 decimals, that of chain 2 has 6.
contract TokenBackingOutboxTest is ThreeChains {
    function testConstructor_wires() public view {
        assertEq(one.outbox.MINTER(), address(one.minter));
        assertEq(address(one.outbox.STABLECOIN()), address(one.dollar));
        assertEq(one.outbox.TIMELOCK(), one.timelock);
        assertEq(one.outbox.SCALE(), 1e12);
        assertEq(two.outbox.SCALE(), 1);
        OftDollarBridge adapter = OftDollarBridge(address(one.outbox.adapter()));
        assertEq(address(adapter.OFT()), address(one.pool));
        assertEq(adapter.PRIMARY_EID(), EID_0);
        assertEq(adapter.INBOX(), minter.inboxOf(EID_1));
        assertEq(OftDollarBridge(address(two.outbox.adapter())).INBOX(), minter.inboxOf(EID_2));
    }

    /* RECEIVE */

    function testFuzzOnMint_minterOnly(address caller) public {
        expectOnly(caller, address(one.minter), ITokenBackingOutbox.OnlyMinter.selector);
        one.outbox.onMint(1);
    }

    function testOnMint_countsAndRemembersTheOldest() public {
        uint256 start = block.timestamp;
        fundTokenOn(one, alice, 3e6);
        vm.warp(start + 5);
        fundTokenOn(one, alice, 4e6);
        assertEq(one.outbox.pending(), 7e6);
        assertEq(one.outbox.pendingSince(), start);
        assertEq(one.dollar.balanceOf(address(one.outbox)), 7e18);
        assertEq(one.outbox.costReserve(), 0);
    }

    /* FLUSH */

    /// @dev The amount that arrives equals the batch, for any decimals.
    function testFuzzFlush_arrivesWhole(uint256 amount, bool onOne) public {
        Chain memory chain = onOne ? one : two;
        amount = bound(amount, 10e6, 20_000e6);
        fundTokenOn(chain, alice, amount);
        uint256 batch = amount < 10_000e6 ? amount : 10_000e6;
        relay(primary.lz, flushFrom(chain, bob));
        assertEq(chain.outbox.pending(), amount - batch);
        assertEq(chain.outbox.flushed(), batch);
        assertEq(chain.outbox.nextFlushAt(), block.timestamp + 1 hours);
        assertEq(usdc.balanceOf(minter.inboxOf(chain.lz.eid)), batch);
        assertEq(minter.book(chain.lz.eid), batch);
        assertLine(chain.lz.eid, batch, 0);
        assertEq(chain.dollar.balanceOf(address(chain.outbox.adapter())), 0);
    }

    function testFlush_isAnnouncedAndRefundsTheRest() public {
        fundTokenOn(two, alice, 12_000e6);
        (uint256 amount, uint256 fee, uint256 cost) = two.outbox.quoteFlush(type(uint256).max);
        assertEq(amount, 10_000e6);
        assertEq(cost, 0);
        vm.deal(bob, 1 ether);
        vm.expectEmit(false, true, true, true, address(two.outbox));
        emit ITokenBackingOutbox.Flushed(0, bob, 10_000e6, 0, 10_000e6, 2_000e6);
        vm.prank(bob);
        bytes32 id = two.outbox.flush{value: 1 ether}(type(uint256).max);
        assertEq(id, sentPacket().guid);
        assertEq(bob.balance, 1 ether - fee);
    }

    function testFlush_smallBatchAfterADay() public {
        expectRefusal(two, abi.encodeWithSelector(ITokenBackingOutbox.BatchTooSmall.selector, 0, two.outbox.MAX_AGE()));
        uint256 start = block.timestamp;
        fundTokenOn(two, alice, 10e6 - 1);
        bytes memory refusal =
            abi.encodeWithSelector(ITokenBackingOutbox.BatchTooSmall.selector, 10e6 - 1, start + 24 hours);
        expectRefusal(two, refusal);
        vm.warp(start + 24 hours - 1);
        expectRefusal(two, refusal);
        vm.warp(start + 24 hours);
        flushFrom(two, bob);
        assertEq(two.outbox.pending(), 0);
    }

    function testFlush_onceAnHour() public {
        uint256 start = block.timestamp;
        fundTokenOn(two, alice, 25_000e6);
        flushFrom(two, bob);
        vm.warp(start + 1 hours - 1);
        expectRefusal(two, abi.encodeWithSelector(ITokenBackingOutbox.TooSoon.selector, start + 1 hours));
        vm.warp(start + 1 hours);
        flushFrom(two, bob);
        assertEq(two.outbox.pending(), 5_000e6);
        assertEq(two.outbox.flushed(), 20_000e6);
    }

    /// @dev The remainder of a large batch keeps its age, so it need not wait for another day.
    function testFlush_remainderKeepsItsAge() public {
        uint256 start = block.timestamp;
        fundTokenOn(two, alice, 10_001e6);
        vm.warp(start + 23 hours);
        flushFrom(two, bob);
        vm.warp(start + 24 hours);
        flushFrom(two, bob);
        assertEq(two.outbox.pending(), 0);
        vm.warp(start + 30 hours);
        fundTokenOn(two, alice, 1);
        assertEq(two.outbox.pendingSince(), start + 30 hours);
    }

    function testFlush_withoutEnoughFee() public {
        fundTokenOn(two, alice, 10e6);
        vm.expectRevert();
        two.outbox.flush(type(uint256).max);
        assertEq(two.outbox.pending(), 10e6);
    }

    /* COST */

    /// @dev A bridge that takes a fee: the reserve pays it, and the full batch arrives.
    function testFuzzFlush_lossyBridgeIsPaidByTheReserve(uint256 amount, uint256 bps, bool onOne) public {
        Chain memory chain = onOne ? one : two;
        amount = bound(amount, 100e6, 10_000e6);
        bps = bound(bps, 0, 29);
        chain.pool.setFee(bps, 0);
        fundTokenOn(chain, alice, amount);
        PlainDollar(address(chain.dollar)).mint(address(chain.outbox), 40e6 * chain.outbox.SCALE());
        assertEq(chain.outbox.costReserve(), 40e6);
        (,, uint256 cost) = chain.outbox.quoteFlush(type(uint256).max);
        relay(primary.lz, flushFrom(chain, bob));
        assertEq(usdc.balanceOf(minter.inboxOf(chain.lz.eid)), amount);
        assertEq(chain.outbox.costReserve(), 40e6 - cost);
        assertLe(cost * 10_000, amount * 30);
    }

    function testFlush_expensiveBridge() public {
        two.pool.setFee(30, 0);
        fundTokenOn(two, alice, 1_000e6);
        PlainDollar(address(two.dollar)).mint(address(two.outbox), 100e6);
        (,, uint256 cost) = two.outbox.quoteFlush(type(uint256).max);
        assertGt(cost, 3e6);
        expectRefusal(two, abi.encodeWithSelector(ITokenBackingOutbox.CostTooHigh.selector, cost, 3e6));
        fundTokenOn(two, alice, 1e6);
        assertEq(two.outbox.pending(), 1_001e6);
    }

    function testFlush_reserveIsShort() public {
        two.pool.setFee(10, 0);
        fundTokenOn(two, alice, 1_000e6);
        (,, uint256 cost) = two.outbox.quoteFlush(type(uint256).max);
        PlainDollar(address(two.dollar)).mint(address(two.outbox), cost - 1);
        expectRefusal(two, abi.encodeWithSelector(ITokenBackingOutbox.CostReserveShort.selector, cost, cost - 1));
        PlainDollar(address(two.dollar)).mint(address(two.outbox), 1);
        flushFrom(two, bob);
        assertEq(two.outbox.costReserve(), 0);
    }

    /// @dev A bridge that carries less than is pending takes what it can; the rest follows.
    function testFuzzFlush_bridgeThatCarriesLess(uint256 amount, uint256 most, uint256 bps, bool onOne) public {
        Chain memory chain = onOne ? one : two;
        amount = bound(amount, 100e6, 10_000e6);
        most = bound(most, 20e6, 12_000e6);
        chain.pool.setFee(bound(bps, 0, 29), 0);
        chain.pool.setMost(most * chain.outbox.SCALE());
        fundTokenOn(chain, alice, amount);
        PlainDollar(address(chain.dollar)).mint(address(chain.outbox), 40e6 * chain.outbox.SCALE());
        (uint256 batch,, uint256 cost) = chain.outbox.quoteFlush(type(uint256).max);
        assertLe(batch + cost, most);
        assertGe(batch * 10_000, (amount < most ? amount : most) * 9_970);
        relay(primary.lz, flushFrom(chain, bob));
        assertEq(usdc.balanceOf(minter.inboxOf(chain.lz.eid)), batch);
        assertEq(chain.outbox.pending(), amount - batch);
        assertEq(chain.outbox.costReserve(), 40e6 - cost);
    }

    /// @dev Older OFTs report 2^64 - 1 and accept any amount. With 18 decimals that would be 18 dollars.
    function testFlush_olderBridgeWithoutALimit() public {
        fundTokenOn(one, alice, 10_000e6);
        one.pool.setMost(type(uint256).max);
        vm.mockCall(
            address(one.pool),
            abi.encodeWithSelector(IOFT.quoteOFT.selector),
            abi.encode(OFTLimit(0, type(uint64).max), new OFTFeeDetail[](0), OFTReceipt(10_000e18, 10_000e18))
        );
        flushFrom(one, bob);
        assertEq(one.outbox.pending(), 0);
    }

    /// @dev What the bridge can carry is a batch too: it must be large or old enough. Nothing is not sent.
    function testFlush_bridgeThatCarriesLittleOrNothing() public {
        uint256 start = block.timestamp;
        fundTokenOn(two, alice, 6_000e6);
        two.pool.setMost(9e6);
        expectRefusal(two, abi.encodeWithSelector(ITokenBackingOutbox.BatchTooSmall.selector, 9e6, start + 24 hours));
        vm.warp(start + 24 hours);
        two.pool.setMost(0);
        expectRefusal(two, abi.encodeWithSelector(ITokenBackingOutbox.BatchTooSmall.selector, 0, start + 24 hours));
        two.pool.setMost(9e6);
        flushFrom(two, bob);
        assertEq(two.outbox.pending(), 5_991e6);
    }

    /// @dev A bridge that refuses more than it says: the caller asks for less, and the rest follows.
    function testFlush_bridgeWithAnUnquotedLimit() public {
        fundTokenOn(two, alice, 6_000e6);
        two.pool.setUnquotedMost(5_000e6);
        expectRefusal(two, abi.encodeWithSelector(OftPool.AboveTheLimit.selector));
        flush(two, 5_000e6);
        assertEq(two.outbox.flushed(), 5_000e6);
        vm.warp(two.outbox.nextFlushAt());
        flush(two, 5_000e6);
        assertEq(two.outbox.pending(), 0);
    }

    /// @dev At most the largest batch leaves in an hour, however it is divided, and a small batch delays no other.
    function testFuzzFlush_waitInProportion(uint256 pending, uint256 most) public {
        (pending, most) = (bound(pending, 10e6, 30_000e6), bound(most, 0, 20_000e6));
        fundTokenOn(two, alice, pending);
        uint256 possible = pending < 10_000e6 ? pending : 10_000e6;
        uint256 batch = most < 10e6 ? 10e6 : most < possible ? most : possible;
        flush(two, most);
        assertEq(two.outbox.flushed(), batch);
        uint256 wait = two.outbox.nextFlushAt() - block.timestamp;
        assertGe(wait * possible, batch * 1 hours);
        assertLt((wait - 1) * possible, batch * 1 hours);
    }

    /// @dev The adapter reverts if the bridge takes an amount other than quoted, so no dollars stay in the adapter.
    function testFlush_bridgeThatTakesAnotherAmount() public {
        two.pool.setFee(0, 5);
        fundTokenOn(two, alice, 100e6);
        expectRefusal(two, abi.encodeWithSelector(IDollarBridge.WrongDelivery.selector, 100e6 - 5, 100e6));
        assertEq(two.outbox.pending(), 100e6);
    }

    function testFlush_failingBridge() public {
        fundTokenOn(two, alice, 100e6);
        vm.etch(address(two.pool), "");
        vm.expectRevert();
        two.outbox.flush(type(uint256).max);
        fundTokenOn(two, alice, 100e6);
        assertEq(two.outbox.pending(), 200e6);

        deployPool(two);
        OftDollarBridge adapter = new OftDollarBridge(
            IOFT(address(two.pool)), EID_0, minter.inboxOf(EID_2), PathwayConfig.options(RECEIVE_GAS)
        );
        vm.prank(two.timelock);
        two.outbox.setAdapter(adapter);
        relay(primary.lz, flushFrom(two, bob));
        assertEq(minter.book(EID_2), 200e6);
    }

    /* ADAPTER */

    function testFuzzSetAdapter_timelockOnly(address caller, IDollarBridge adapter) public {
        expectOnly(caller, one.timelock, ITokenBackingOutbox.OnlyTimelock.selector);
        one.outbox.setAdapter(adapter);
        IDollarBridge before = one.outbox.adapter();
        vm.expectEmit(address(one.outbox));
        emit ITokenBackingOutbox.AdapterChanged(before, adapter);
        vm.prank(one.timelock);
        one.outbox.setAdapter(adapter);
        assertEq(address(one.outbox.adapter()), address(adapter));
    }

    /// @dev Anyone may call an adapter, but it holds nothing to send.
    function testSend_withoutDollars() public {
        IDollarBridge adapter = two.outbox.adapter();
        (, uint256 fee,) = adapter.quote(1e6);
        vm.deal(bob, fee);
        vm.expectRevert("ERC20: transfer amount exceeds balance");
        vm.prank(bob);
        adapter.send{value: fee}(1e6, 0, bob);
    }

    /* HELPERS */

    function flush(Chain memory chain, uint256 most) private {
        (, uint256 fee,) = chain.outbox.quoteFlush(most);
        vm.deal(bob, fee);
        vm.prank(bob);
        chain.outbox.flush{value: fee}(most);
    }

    function expectRefusal(Chain memory chain, bytes memory reason) private {
        vm.deal(bob, 1 ether);
        vm.expectRevert(reason);
        vm.prank(bob);
        chain.outbox.flush{value: 1 ether}(type(uint256).max);
    }
}
