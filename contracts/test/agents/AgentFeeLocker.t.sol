// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IUniswapV3Pool} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";

import {AgentFeeLocker} from "../../src/agents/AgentFeeLocker.sol";
import {AgentToken} from "../../src/agents/AgentToken.sol";
import {IAgentFeeConverter} from "../../src/agents/interfaces/IAgentFeeConverter.sol";
import {IAgentFeeLocker, IPositionManager as ILockedPositions} from "../../src/agents/interfaces/IAgentFeeLocker.sol";
import {IInferenceStaking} from "../../src/agents/interfaces/IInferenceStaking.sol";
import {PlainDollar} from "../helpers/Dollars.sol";
import {AgentsTest} from "./helpers/AgentsTest.sol";
import {FeeToken} from "./helpers/Tokens.sol";

contract AgentFeeLockerTest is AgentsTest {
    AgentFeeLocker private locker;
    PlainDollar private own;
    address private trader = makeAddr("trader");

    function setUp() public override {
        super.setUp();
        locker = deployLocker(pool);
        own = PlainDollar(address(agent));
    }

    /* FEES */

    /// @dev A buy pays its fee in the staking-derived token, a sale in the agent's own. The stake counts from the next
    /// day, and the fifth becomes the Safe's tokens.
    function testFuzzCollect_stakeGrowsByWhatTheConverterLeaves(uint256 bought, uint256 sold) public {
        (bought, sold) = (bound(bought, 1e6, 10e18), bound(sold, 1e6, 10e18));
        (IUniswapV3Pool market, uint256 id) = open(staking);
        feeIn(market, staking, bought);
        feeIn(market, own, sold);
        uint256 fee = feeOf(bought);
        uint256 own0 = own.balanceOf(agentSafe);

        vm.prank(makeAddr("anyone"));
        locker.collect(id);
        uint256 taken = converter.pending(address(agent), address(staking));
        uint256 staked = pool.totalStakeOf(address(agent));
        assertApproxEqAbs(taken + staked, fee, 2);
        assertEq(taken, (taken + staked) / 5);
        assertApproxEqAbs(own.balanceOf(agentSafe) - own0, feeOf(sold), 2);
        assertEq(pool.stakeOf(address(agent), address(agent)), staked, "a gift, which nobody can withdraw");
        assertEq(staking.balanceOf(agentSafe), 0);
        assertNothingWaits(staking, own);
        warpTo(1, 0);
        assertEq(pool.capacityToday(address(agent)), staked / 1e9);
    }

    function testCollect_theFifthBecomesTheSafesTokens() public {
        (IUniswapV3Pool market, uint256 id) = open(staking);
        feeIn(market, staking, 10e18);
        vm.expectEmit(true, true, true, false, address(locker));
        emit IAgentFeeLocker.Collected(address(agent), id, address(staking), 0);
        locker.collect(id);
        uint256 minted = converter.convert(address(agent), address(staking));
        assertGt(minted, 0);
        assertEq(token.balanceOf(agentSafe), minted);
    }

    function testFuzzCollect_dollarsGoToConverterAndSafe(uint256 bought) public {
        bought = bound(bought, 1e4, 1e12);
        PlainDollar dollar = PlainDollar(address(usdc));
        (IUniswapV3Pool market, uint256 id) = open(dollar);
        feeIn(market, dollar, bought);
        locker.collect(id);
        uint256 taken = converter.pending(address(agent), address(usdc));
        uint256 toSafe = usdc.balanceOf(agentSafe);
        assertApproxEqAbs(taken + toSafe, feeOf(bought), 2);
        assertEq(taken, (taken + toSafe) / 5);
        assertEq(pool.totalStakeOf(address(agent)), 0);
        assertNothingWaits(dollar, own);
    }

    /// @dev Fees in an unlisted token wait in sight, over several collections, until the timelock lists it.
    function testCollect_unlistedWaitsUntilListed() public {
        PlainDollar fresh = new PlainDollar(18);
        (IUniswapV3Pool market, uint256 id) = open(fresh);
        feeIn(market, fresh, 1e18);
        locker.collect(id);
        uint256 first = locker.waiting(address(agent), address(fresh));
        assertApproxEqAbs(first, feeOf(1e18), 2);
        vm.expectRevert(abi.encodeWithSelector(IAgentFeeLocker.NotListed.selector, address(fresh)));
        locker.release(address(agent), address(fresh));
        feeIn(market, fresh, 1e18);
        locker.collect(id);
        uint256 all = locker.waiting(address(agent), address(fresh));
        assertApproxEqAbs(all, 2 * feeOf(1e18), 4);

        deployMarket(fresh, 5);
        vm.prank(timelock);
        converter.list(IAgentFeeConverter.Listing(address(fresh), 3000, WINDOW, SLIPPAGE_TICKS));
        vm.expectEmit(address(locker));
        emit IAgentFeeLocker.Released(address(agent), address(fresh), all / 5, 0, all - all / 5);
        locker.release(address(agent), address(fresh));
        assertEq(fresh.balanceOf(agentSafe), all - all / 5);
        vm.expectRevert(IAgentFeeLocker.NothingWaiting.selector);
        locker.release(address(agent), address(fresh));
    }

    /// @dev A Safe that the stablecoin's issuer blocked does not hold up the other token, and loses nothing.
    function testCollect_blockedSafe() public {
        PlainDollar dollar = PlainDollar(address(usdc));
        (IUniswapV3Pool market, uint256 id) = open(dollar);
        feeIn(market, dollar, 1e9);
        feeIn(market, own, 1e18);
        usdc.blacklist(agentSafe);
        uint256 own0 = own.balanceOf(agentSafe);
        locker.collect(id);
        assertApproxEqAbs(locker.waiting(address(agent), address(usdc)), feeOf(1e9), 2);
        assertGt(own.balanceOf(agentSafe), own0);
        address next = makeAddr("next Safe");
        vm.prank(agentSafe);
        registry.replaceSafe(address(agent), next);
        locker.release(address(agent), address(usdc));
        assertGt(usdc.balanceOf(next), 0);
    }

    /// @dev A wallet's estimate is the least gas with which the call succeeds.
    function testCollect_withTheLeastGasReleases() public {
        (IUniswapV3Pool market, uint256 id) = open(staking);
        feeIn(market, staking, 1e18);
        feeIn(market, own, 1e18);
        bool succeeded;
        for (uint256 limit = 200_000; !succeeded; limit += 2_000) {
            uint256 before = vm.snapshotState();
            (succeeded,) = address(locker).call{gas: limit}(abi.encodeCall(locker.collect, (id)));
            if (!succeeded) vm.revertToState(before);
        }
        assertNothingWaits(staking, own);
    }

    /// @dev Off the primary chain nothing can be staked.
    function testRelease_withoutAPool() public {
        locker = deployLocker(IInferenceStaking(address(0)));
        (IUniswapV3Pool market, uint256 id) = open(staking);
        feeIn(market, staking, 1e18);
        locker.collect(id);
        uint256 taken = converter.pending(address(agent), address(staking));
        assertEq((staking.balanceOf(agentSafe) + taken) / 5, taken);
        assertGt(taken, 0);
    }

    /* LOCK */

    function testLock_refusals() public {
        vm.expectRevert(IAgentFeeLocker.OnlyPositionManager.selector);
        locker.onERC721Received(trader, trader, 1, abi.encode(agent));
        vm.prank(address(positions));
        vm.expectRevert(abi.encodeWithSelector(IAgentFeeLocker.UnknownAgent.selector, bob));
        locker.onERC721Received(trader, trader, 1, abi.encode(bob));
        vm.expectRevert(abi.encodeWithSelector(IAgentFeeLocker.UnknownPosition.selector, 99));
        locker.collect(99);
    }

    /// @dev The position has no way out: nobody but the locker may touch it, and the locker only collects.
    function testLock_forEver() public {
        (, uint256 id) = open(staking);
        assertEq(locker.agentOf(id), address(agent));
        address[3] memory callers = [agentOwner, timelock, address(this)];
        for (uint256 i; i < 3; ++i) {
            vm.startPrank(callers[i]);
            vm.expectRevert("ERC721: transfer caller is not owner nor approved");
            positions.transferFrom(address(locker), callers[i], id);
            vm.expectRevert("Not approved");
            positions.burn(id);
            vm.stopPrank();
        }
    }

    /* ATTACKS */

    /// @dev A hostile token calls back while its position is collected, to have another agent's fees counted twice.
    function testAttack_hostileTokenCollectsAnother() public {
        PlainDollar dollar = PlainDollar(address(usdc));
        (IUniswapV3Pool market, uint256 id) = open(dollar);
        feeIn(market, dollar, 1e9);
        AgentToken other = createAgent(trader);
        SwallowingToken hostile = new SwallowingToken();
        IUniswapV3Pool trap = createPool(address(hostile), address(usdc), 3000, 1e18, 1e6);
        uint256 trapId = lock(trap, hostile, dollar, address(other));
        feeIn(trap, hostile, 1e18);
        feeIn(trap, dollar, 1e6);
        hostile.setCall(address(locker), abi.encodeCall(locker.collect, (id)));
        locker.collect(trapId);
        assertEq(hostile.calls(), 1);
        assertApproxEqAbs(converter.pending(address(other), address(usdc)), feeOf(1e6) / 5, 2);
        locker.collect(id);
        assertApproxEqAbs(converter.pending(address(agent), address(usdc)), feeOf(1e9) / 5, 2);
    }

    /// @dev What a token keeps of a transfer is not booked.
    function testCollect_tokenThatDeliversLess() public {
        FeeToken taxed = new FeeToken();
        (IUniswapV3Pool market, uint256 id) = open(taxed);
        feeIn(market, taxed, 1e18);
        taxed.takeFees();
        locker.collect(id);
        assertEq(locker.waiting(address(agent), address(taxed)), taxed.balanceOf(address(locker)));
        assertGt(taxed.balanceOf(address(locker)), 0);
    }

    /* HELPERS */

    function deployLocker(IInferenceStaking pool_) private returns (AgentFeeLocker) {
        return
            new AgentFeeLocker(registry, converter, pool_, usdc, address(staking), ILockedPositions(address(positions)));
    }

    /// @dev A market of the agent's token with one position, which the locker owns.
    function open(PlainDollar other) private returns (IUniswapV3Pool market, uint256 id) {
        market = createPool(address(own), address(other), 3000, 1, 1);
        id = lock(market, own, other, address(agent));
    }

    function lock(IUniswapV3Pool market, PlainDollar one, PlainDollar two, address agent_)
        private
        returns (uint256 id)
    {
        give(one, address(this), 1e22);
        give(two, address(this), 1e22);
        (id,,) = addPosition(market, 1e22, 1e22, -MAX_TICK, MAX_TICK);
        vm.expectEmit(address(locker));
        emit IAgentFeeLocker.Locked(agent_, id);
        positions.safeTransferFrom(address(this), address(locker), id, abi.encode(agent_));
    }

    /// @dev The owner of the agent has its whole supply; other tokens are minted.
    function give(PlainDollar token_, address to, uint256 amount) private {
        if (address(token_) != address(own)) return token_.mint(to, amount);
        vm.prank(agentOwner);
        assertTrue(token_.transfer(to, amount));
    }

    function feeIn(IUniswapV3Pool market, PlainDollar tokenIn, uint256 amount) private {
        give(tokenIn, trader, amount);
        trade(trader, market, address(tokenIn), amount);
    }

    /// @dev Of the 0.3 % pools.
    function feeOf(uint256 amount) private pure returns (uint256) {
        return amount * 3 / 1000;
    }

    function assertNothingWaits(PlainDollar one, PlainDollar two) private view {
        assertEq(locker.waiting(address(agent), address(one)) + one.balanceOf(address(locker)), 0);
        assertEq(locker.waiting(address(agent), address(two)) + two.balanceOf(address(locker)), 0);
    }
}

/// @notice A token that calls its target once when it is transferred, and goes on whatever the target answers.
contract SwallowingToken is PlainDollar(18) {
    address private _target;
    bytes private _data;
    uint256 public calls;

    function setCall(address target, bytes calldata data) external {
        (_target, _data) = (target, data);
    }

    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, value);
        address target = _target;
        if (target == address(0)) return;
        _target = address(0);
        ++calls;
        (bool ok,) = target.call(_data);
        require(!ok, "another position was collected in between");
    }
}
