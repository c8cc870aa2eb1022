// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {TestBase} from "forge-std/Base.sol";

import {InferenceSettlement} from "../../../src/InferenceSettlement.sol";
import {InferenceToken} from "../../../src/InferenceToken.sol";
import {AgentFeeConverter} from "../../../src/agents/AgentFeeConverter.sol";
import {AgentRegistry} from "../../../src/agents/AgentRegistry.sol";
import {AgentToken} from "../../../src/agents/AgentToken.sol";
import {AgentTreasury} from "../../../src/agents/AgentTreasury.sol";
import {BackerVault} from "../../../src/agents/BackerVault.sol";
import {InferencePool} from "../../../src/agents/InferencePool.sol";
import {IAgentFeeConverter} from "../../../src/agents/interfaces/IAgentFeeConverter.sol";
import {IAgentTreasury} from "../../../src/agents/interfaces/IAgentTreasury.sol";
import {Chunks} from "../../helpers/Chunks.sol";
import {PlainDollar} from "../../helpers/Dollars.sol";
import {QuietUtils} from "../../helpers/QuietUtils.sol";
import {IRouter} from "./IUniswap.sol";

/// @notice All actions that are open to anyone with agents, and the totals that an observer computes from them.
contract AgentsHandler is TestBase, QuietUtils {
    struct System {
        InferenceToken token;
        InferenceSettlement settlement;
        address settler;
        InferencePool pool;
        AgentRegistry registry;
        BackerVault vault;
        AgentFeeConverter converter;
        IRouter router;
        PlainDollar staking;
        PlainDollar dollar;
    }

    uint256 private constant MAX_STAKE = 40e18;

    System private s;
    address[] private agents;
    address[] private people;
    uint256 private lastExit;
    uint256 private lastDay;
    address public immutable CUSTOMER = makeAddress("customer");
    address private immutable HOOK = makeAddress("hook");
    address private immutable TRADER = makeAddress("trader");

    /// @notice By agent: token units minted for it, and claimed by its backers.
    mapping(address agent => uint256) public notified;
    mapping(address agent => uint256) public claimed;
    /// @notice By agent: how often a backer's reward was rounded down.
    mapping(address agent => uint256) public roundings;
    /// @notice By agent: dollars taken as fees, and dollars that the market paid for fees.
    mapping(address agent => uint256) public dollarsIn;
    /// @notice Capacities that changed after their day had begun, and days on which capacity exceeded stake.
    uint256 public changedCapacities;
    uint256 public overcommittedDays;
    mapping(address identity => mapping(uint256 day => uint256)) private seenCapacity;

    constructor(System memory system, address[] memory agents_) {
        s = system;
        agents = agents_;
        people = [makeAddress("ann"), makeAddress("ben")];
    }

    modifier observed() {
        _;
        lookAtCapacities();
    }

    /* STAKERS */

    function enter(uint256 whoSeed, uint256 identitySeed, uint256 amount, uint256 way) external observed {
        address who = personOf(whoSeed);
        amount = supply(s.staking, who, amount, MAX_STAKE, address(s.pool));
        vm.startPrank(who);
        if (way % 3 == 0) s.pool.enter(amount);
        if (way % 3 == 1) s.pool.enterFor(identityOf(identitySeed), amount);
        if (way % 3 == 2) s.pool.enterUnder(identityOf(identitySeed), amount);
        vm.stopPrank();
    }

    function requestExit(uint256 whoSeed, uint256 identitySeed, uint256 amount) external observed {
        (address who, address identity) = (personOf(whoSeed), identityOf(identitySeed));
        uint256 owned = s.pool.stakeOf(who, identity);
        if (owned == 0) return;
        vm.prank(who);
        lastExit = s.pool.requestExit(identity, bound(amount, 1, owned), who);
    }

    function exit(uint256 seed) external observed {
        uint256 id = bound(seed, 0, lastExit);
        (, uint64 readyAt, uint256 due) = s.pool.exits(id);
        if (due != 0 && readyAt <= block.timestamp) s.pool.exit(id);
    }

    function reserve(uint256 seed, uint256 amount) external observed {
        amount = bound(amount, 0, MAX_STAKE);
        address identity = identityOf(seed);
        if (!s.registry.isAgent(identity)) {
            vm.prank(identity);
            return s.pool.reserve(amount);
        }
        vm.prank(AgentToken(identity).owner());
        AgentToken(identity).setReserve(amount);
    }

    /* BACKERS */

    function back(uint256 whoSeed, uint256 agentSeed, uint256 amount) external observed {
        (address who, address agent) = (personOf(whoSeed), agentOf(agentSeed));
        amount = supply(s.staking, who, amount, MAX_STAKE, address(s.vault));
        roundings[agent]++;
        vm.prank(who);
        s.vault.back(agent, amount);
    }

    function unback(uint256 whoSeed, uint256 agentSeed, uint256 amount, bool all) external observed {
        (address who, address agent) = (personOf(whoSeed), agentOf(agentSeed));
        uint256 backing = s.vault.backingOf(agent, who);
        if (backing == 0) return;
        roundings[agent]++;
        lastExit++;
        vm.prank(who);
        s.vault.unback(agent, all ? backing : bound(amount, 1, backing));
    }

    function claim(uint256 whoSeed, uint256 agentSeed) external observed {
        (address who, address agent) = (personOf(whoSeed), agentOf(agentSeed));
        roundings[agent]++;
        uint256 before = s.token.balanceOf(who);
        vm.prank(who);
        s.vault.claim(agent);
        claimed[agent] += s.token.balanceOf(who) - before;
    }

    /* FEES */

    /// @dev A sufficiently large fee followed by its conversion. Random calls alone would rarely combine them.
    function earn(uint256 agentSeed, uint256 amount, bool inDollars) external observed {
        notifyFee(agentSeed, inDollars ? bound(amount, 1e6, 1_000e6) : bound(amount, 1e16, 100e18), inDollars);
        convert(agentSeed, inDollars);
    }

    function notifyFee(uint256 agentSeed, uint256 amount, bool inDollars) public observed {
        address agent = agentOf(agentSeed);
        PlainDollar feeToken = inDollars ? s.dollar : s.staking;
        amount = supply(feeToken, HOOK, amount, inDollars ? 1_000e6 : 100e18, address(s.converter));
        uint256 before = feeToken.balanceOf(HOOK);
        vm.prank(HOOK);
        s.converter.notifyFee(agent, address(feeToken), amount);
        if (inDollars) dollarsIn[agent] += before - feeToken.balanceOf(HOOK);
    }

    function convert(uint256 agentSeed, bool fromDollars) public observed {
        address agent = agentOf(agentSeed);
        uint256 supplyBefore = s.token.totalSupply();
        address market = address(s.converter.marketOf(address(s.staking)).pool);
        uint256 marketBefore = s.dollar.balanceOf(market);
        try s.converter.convert(agent, address(fromDollars ? s.dollar : s.staking)) {
            notified[agent] += s.token.totalSupply() - supplyBefore;
            dollarsIn[agent] += marketBefore - s.dollar.balanceOf(market);
        } catch (bytes memory reason) {
            requireExpected(reason, IAgentFeeConverter.NothingToConvert.selector);
        }
    }

    function buy(uint256 agentSeed, uint256 amount) external observed {
        AgentTreasury treasury = AgentTreasury(s.registry.treasuryOf(agentOf(agentSeed)));
        s.dollar.mint(address(treasury), bound(amount, 1e6, 10_000e6));
        try treasury.buy() {}
        catch (bytes memory reason) {
            requireExpected(reason, IAgentTreasury.NothingToEnter.selector);
        }
    }

    function trade(uint256 amount, bool buysDollars) external observed {
        (PlainDollar tokenIn, PlainDollar tokenOut) = buysDollars ? (s.staking, s.dollar) : (s.dollar, s.staking);
        amount = supply(tokenIn, TRADER, amount, buysDollars ? 10e18 : 3_000e6, address(s.router));
        vm.prank(TRADER);
        s.router
            .exactInputSingle(
                IRouter.ExactInputSingleParams(
                    address(tokenIn), address(tokenOut), 3000, TRADER, block.timestamp, amount, 0, 0
                )
            );
    }

    /* OTHER */

    function serve(uint256 agentSeed, uint256 amount) external observed {
        address agent = agentOf(agentSeed);
        (uint256 day, uint256 left,) = s.settlement.ceilingToday();
        left = Math.min(left, s.pool.capacityToday(agent) - s.settlement.servedNanoUsd(agent, day));
        left = Math.min(left, s.settlement.creditNanoUsd(CUSTOMER));
        if (left == 0) return;
        (, uint256 debited,) = s.settlement.accountOf(CUSTOMER);
        bytes memory data = Chunks.serve(agent, day, CUSTOMER, debited, bound(amount, 1, left));
        vm.prank(s.settler);
        s.settlement.settle(uint32(day), data);
    }

    function giftPlainly(uint256 amount) external observed {
        s.staking.mint(address(s.pool), bound(amount, 1, MAX_STAKE));
        s.staking.mint(address(s.vault), bound(amount, 1, MAX_STAKE));
        s.staking.mint(address(s.converter), bound(amount, 1, MAX_STAKE));
        s.dollar.mint(address(s.converter), bound(amount, 1, 1e6));
    }

    function wait(uint256 duration) external observed {
        vm.warp(block.timestamp + bound(duration, 1, 30 hours));
    }

    /// @dev Not for fuzzing: lets a mutant act while the observer records.
    function callObserved(address target, bytes calldata data) external observed {
        (bool ok,) = target.call(data);
        require(ok, "call failed");
    }

    /* OBSERVER */

    function allPeople() external view returns (address[] memory) {
        return people;
    }

    /// @notice The sum of the exits that are not paid yet.
    function unpaidExits() external view returns (uint256 sum) {
        for (uint256 id = 1; id <= lastExit; ++id) {
            (,, uint256 due) = s.pool.exits(id);
            sum += due;
        }
    }

    function identityOf(uint256 seed) private view returns (address) {
        uint256 index = seed % (people.length + agents.length);
        return index < people.length ? people[index] : agents[index - people.length];
    }

    function lookAtCapacities() private {
        uint256 day = block.timestamp / 1 days;
        bool isNew = day != lastDay;
        lastDay = day;
        uint256 sum;
        for (uint256 i; i < people.length + agents.length; ++i) {
            address identity = identityOf(i);
            uint256 capacity = s.pool.capacityToday(identity);
            if (isNew) seenCapacity[identity][day] = capacity;
            if (capacity != seenCapacity[identity][day]) changedCapacities++;
            sum += capacity;
        }
        if (isNew && sum * 1e9 > s.staking.balanceOf(address(s.pool))) overcommittedDays++;
    }

    /* HELPERS */

    /// @dev The only accepted errors: nothing to do, or a price beyond the limit.
    function requireExpected(bytes memory reason, bytes4 nothingToDo) private pure {
        bool isExpected = keccak256(reason) == keccak256(abi.encodeWithSelector(nothingToDo))
            || keccak256(reason) == keccak256(abi.encodeWithSignature("Error(string)", "SPL"));
        require(isExpected, "unexpected revert");
    }

    /// @dev Gives `who` up to `most` of `token` and approves `spender` for it.
    function supply(PlainDollar token, address who, uint256 amount, uint256 most, address spender)
        private
        returns (uint256)
    {
        amount = bound(amount, 1, most);
        token.mint(who, amount);
        vm.prank(who);
        token.approve(spender, amount);
        return amount;
    }

    function personOf(uint256 seed) private view returns (address) {
        return people[seed % people.length];
    }

    function agentOf(uint256 seed) private view returns (address) {
        return agents[seed % agents.length];
    }

    function makeAddress(bytes32 name) private pure returns (address) {
        return address(uint160(uint256(keccak256(abi.encode(name)))));
    }
}
