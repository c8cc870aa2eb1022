// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AgentsChecks} from "./helpers/AgentsChecks.sol";
import {AgentsHandler} from "./helpers/AgentsHandler.sol";

/// @notice The invariants hold after any sequence of calls by stakers, backers, traders, hooks and the settler.
/// AgentMutants.t.sol shows that each check can fail.
/// forge-config: fast.invariant.runs = 4
/// forge-config: default.invariant.runs = 32
/// forge-config: deep.invariant.runs = 1000
contract AgentInvariantsTest is AgentsChecks {
    function setUp() public override {
        super.setUp();
        startHandler();
        bytes4[] memory selectors = new bytes4[](15);
        selectors[0] = AgentsHandler.enter.selector;
        selectors[1] = AgentsHandler.requestExit.selector;
        selectors[2] = AgentsHandler.exit.selector;
        selectors[3] = AgentsHandler.reserve.selector;
        selectors[4] = AgentsHandler.back.selector;
        selectors[5] = AgentsHandler.unback.selector;
        selectors[6] = AgentsHandler.claim.selector;
        selectors[7] = AgentsHandler.notifyFee.selector;
        selectors[8] = AgentsHandler.convert.selector;
        selectors[9] = AgentsHandler.buy.selector;
        selectors[10] = AgentsHandler.trade.selector;
        selectors[11] = AgentsHandler.serve.selector;
        selectors[12] = AgentsHandler.giftPlainly.selector;
        selectors[13] = AgentsHandler.wait.selector;
        selectors[14] = AgentsHandler.earn.selector;
        targetContract(address(handler));
        targetSelector(FuzzSelector(address(handler), selectors));
    }

    /// @dev One campaign for all invariants; each is checked after every call.
    function invariant_agentsBooks() public view {
        checkI2();
        checkI3();
        checkI6();
        checkI10();
    }

    /// @dev Prints the totals of the last run (-vv): a campaign that moves nothing proves nothing.
    function afterInvariant() public {
        for (uint256 i; i < agents.length; ++i) {
            emit log_named_uint("minted for the agent, in token units", handler.notified(agents[i]));
            emit log_named_uint("claimed by its backers, in token units", handler.claimed(agents[i]));
            emit log_named_uint("staked by its treasury and gifts", pool.stakeOf(agents[i], agents[i]));
        }
        emit log_named_uint("served, in nano-dollars", settlement.totalDebitedNanoUsd());
        emit log_named_uint("exits to be paid", handler.unpaidExits());
    }
}
