// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {StandingOrders} from "../src/StandingOrders.sol";
import {IActivator} from "../src/interfaces/IActivator.sol";
import {IStandingOrders} from "../src/interfaces/IStandingOrders.sol";
import {ITokenBridge} from "../src/interfaces/ITokenBridge.sol";
import {BaseTest} from "./helpers/BaseTest.sol";

contract StandingOrdersTest is BaseTest {
    StandingOrders private orders;
    address private puller = makeAddr("puller");
    uint64 private expiry;

    function setUp() public override {
        super.setUp();
        orders = new StandingOrders(minter, usdc, ITokenBridge(address(0)));
        expiry = uint64(block.timestamp + 365 days);
        usdc.mint(alice, 2_000);
        vm.prank(alice);
        usdc.approve(address(orders), 1_000);
    }

    /// @dev A thief of the puller's key, over many days: at most the maximum of each day, and only the owner's credit.
    function testFuzzPull_atMostSoMuchADayAndOnlyForTheOwner(uint256 seed, uint128 most) public {
        most = uint128(bound(most, 1, 400));
        place(most);
        uint256 total;
        uint256 today;
        for (uint256 i; i < 16; ++i) {
            uint256 random = uint256(keccak256(abi.encode(seed, i)));
            uint256 amount = random % 500 + 1;
            if (random >> 16 & 3 == 0) {
                vm.warp((block.timestamp / 1 days + 1) * 1 days - (random >> 18 & 1));
                if (block.timestamp % 1 days == 0) today = 0;
            }
            uint256 left = most - today;
            assertEq(orders.leftToday(alice), left);
            bool isAllowed = amount <= left && amount <= 1_000 - total;
            if (amount > left) {
                vm.expectRevert(abi.encodeWithSelector(IStandingOrders.AboveDayMaximum.selector, amount, left));
            } else if (!isAllowed) {
                vm.expectRevert("ERC20: transfer amount exceeds allowance");
            } else {
                vm.expectEmit(address(orders));
                emit IStandingOrders.Pulled(alice, amount, today + amount);
            }
            vm.prank(puller);
            orders.pull(alice, amount);
            if (isAllowed) (total, today) = (total + amount, today + amount);
        }
        assertEq(settlement.creditNanoUsd(alice), total * 1000);
        assertEq(minter.backing(), total);
        assertEq(usdc.balanceOf(alice), 2_000 - total);
        assertEq(usdc.balanceOf(puller) + usdc.balanceOf(address(orders)), 0);
    }

    function testFuzzPull_pullerOnly(address caller) public {
        place(100);
        expectOnly(caller, puller, IStandingOrders.OnlyPuller.selector);
        orders.pull(alice, 1);
    }

    function testPull_expired() public {
        place(100);
        vm.warp(expiry);
        assertEq(orders.leftToday(alice), 0);
        vm.expectRevert(abi.encodeWithSelector(IStandingOrders.Expired.selector, expiry));
        vm.prank(puller);
        orders.pull(alice, 1);
        vm.warp(expiry - 1);
        vm.prank(puller);
        orders.pull(alice, 1);
    }

    function testEnd_atOnce() public {
        place(100);
        vm.expectEmit(address(orders));
        emit IStandingOrders.OrderSet(alice, address(0), 0, 0);
        vm.prank(alice);
        orders.end();
        vm.expectRevert(IStandingOrders.OnlyPuller.selector);
        vm.prank(puller);
        orders.pull(alice, 1);
        // Nor can the zero address, which nobody is, pull from owners without an order.
        vm.prank(address(0));
        vm.expectRevert(abi.encodeWithSelector(IStandingOrders.Expired.selector, 0));
        orders.pull(alice, 1);
    }

    /// @dev Without the allowance an order is worth nothing, so taking it back also ends everything.
    function testPull_allowanceTakenBack() public {
        place(100);
        vm.prank(alice);
        usdc.approve(address(orders), 0);
        vm.expectRevert("ERC20: transfer amount exceeds allowance");
        vm.prank(puller);
        orders.pull(alice, 1);
        assertEq(orders.leftToday(alice), 100);
    }

    /// @dev Setting the order again, the same or another puller, gives no second maximum on the day.
    function testSet_whatWasPulledTodayCounts() public {
        place(100);
        vm.prank(puller);
        orders.pull(alice, 60);
        vm.prank(alice);
        orders.set(bob, 100, expiry);
        assertEq(orders.leftToday(alice), 40);
        vm.prank(alice);
        orders.set(bob, 50, expiry);
        assertEq(orders.leftToday(alice), 0);
        vm.expectRevert(abi.encodeWithSelector(IStandingOrders.AboveDayMaximum.selector, 1, 0));
        vm.prank(bob);
        orders.pull(alice, 1);
        IStandingOrders.Order memory order = orders.orderOf(alice);
        assertEq(order.puller, bob);
        assertEq(order.maxPerDay, 50);
        assertEq(order.expiresAt, expiry);
        assertEq(order.pulled, 60);
        assertEq(order.day, block.timestamp / 1 days);
    }

    function testPull_nativeCoinOnThePrimaryChain() public {
        place(100);
        vm.deal(puller, 1);
        vm.expectRevert(IActivator.NoMessageFee.selector);
        vm.prank(puller);
        orders.pull{value: 1}(alice, 1);
    }

    /* SIGNATURE */

    function testSetWithSignature_onceAndOnlyTheSignedTerms() public {
        uint256 deadline = block.timestamp + 1 hours;
        bytes memory signature = sign(aliceKey, 100, 0, deadline);
        vm.expectRevert(IStandingOrders.InvalidSignature.selector);
        orders.setWithSignature(alice, bob, 100, expiry, deadline, signature);
        vm.expectRevert(IStandingOrders.InvalidSignature.selector);
        orders.setWithSignature(alice, puller, 101, expiry, deadline, signature);
        vm.expectRevert(IStandingOrders.InvalidSignature.selector);
        orders.setWithSignature(alice, puller, 100, expiry + 1, deadline, signature);
        vm.expectRevert(IStandingOrders.InvalidSignature.selector);
        orders.setWithSignature(alice, puller, 100, expiry, deadline + 1, signature);
        vm.expectRevert(IStandingOrders.InvalidSignature.selector);
        orders.setWithSignature(bob, puller, 100, expiry, deadline, signature);
        vm.warp(deadline);
        vm.expectRevert(abi.encodeWithSelector(IStandingOrders.Expired.selector, deadline));
        orders.setWithSignature(alice, puller, 100, expiry, deadline, signature);
        vm.warp(deadline - 1);
        vm.expectEmit(address(orders));
        emit IStandingOrders.OrderSet(alice, puller, 100, expiry);
        orders.setWithSignature(alice, puller, 100, expiry, deadline, signature);
        assertEq(orders.leftToday(alice), 100);
        vm.expectRevert(IStandingOrders.InvalidSignature.selector);
        orders.setWithSignature(alice, puller, 100, expiry, deadline, signature);
    }

    /// @dev A signature that a relay held back cannot revive an order that the owner ended or set anew.
    function testSetWithSignature_voidAfterEndAndSet() public {
        uint256 deadline = block.timestamp + 1 hours;
        bytes memory first = sign(aliceKey, 100, 0, deadline);
        vm.prank(alice);
        orders.end();
        vm.expectRevert(IStandingOrders.InvalidSignature.selector);
        orders.setWithSignature(alice, puller, 100, expiry, deadline, first);
        bytes memory second = sign(aliceKey, 100, 1, deadline);
        place(5);
        vm.expectRevert(IStandingOrders.InvalidSignature.selector);
        orders.setWithSignature(alice, puller, 100, expiry, deadline, second);
    }

    /* HELPERS */

    function place(uint128 most) private {
        vm.prank(alice);
        orders.set(puller, most, expiry);
    }

    function sign(uint256 key, uint128 most, uint256 nonce, uint256 deadline) private view returns (bytes memory) {
        bytes32 message = keccak256(
            abi.encode(
                keccak256(
                    "Order(address owner,address puller,uint128 maxPerDay,uint64 expiresAt,uint256 nonce,uint256 deadline)"
                ),
                vm.addr(key),
                puller,
                most,
                expiry,
                nonce,
                deadline
            )
        );
        bytes32 separator = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("StandingOrders"),
                keccak256("1"),
                block.chainid,
                address(orders)
            )
        );
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, keccak256(abi.encodePacked("\x19\x01", separator, message)));
        return abi.encodePacked(r, s, v);
    }
}
