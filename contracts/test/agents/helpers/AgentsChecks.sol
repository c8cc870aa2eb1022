// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AgentsHandler} from "./AgentsHandler.sol";
import {AgentsTest} from "./AgentsTest.sol";
import {PlainDollar} from "../../helpers/Dollars.sol";

/// @notice The invariants of the agents' contracts, each stated once. The numbers are those of the README of this
/// package.
abstract contract AgentsChecks is AgentsTest {
    AgentsHandler internal handler;
    address[] internal agents;
    address[] internal people;
    address[] internal identities;

    function startHandler() internal {
        agents = [address(agent), address(createAgent(bob))];
        AgentsHandler.System memory system = AgentsHandler.System({
            token: token,
            settlement: settlement,
            settler: settler,
            pool: pool,
            registry: registry,
            vault: vault,
            converter: converter,
            router: router,
            staking: staking,
            dollar: PlainDollar(address(usdc))
        });
        handler = new AgentsHandler(system, agents);
        people = handler.allPeople();
        identities = handler.allPeople();
        identities.push(agents[0]);
        identities.push(agents[1]);
        usdc.configureMinter(address(handler), type(uint256).max);
        fund(alice, 10_000e6);
        address customer = handler.CUSTOMER();
        vm.prank(alice);
        minter.mintAndActivate(10_000e6, customer);
    }

    /// @notice I2: real balances cover the booked amounts: the pool's stake and exits, the vault's rewards, the
    /// converter's fees.
    function checkI2() public view {
        uint256 stake;
        for (uint256 i; i < identities.length; ++i) {
            stake += pool.totalStakeOf(identities[i]);
        }
        assertGe(staking.balanceOf(address(pool)), stake + handler.unpaidExits(), "I2 pool");
        uint256 rewards;
        uint256 dollars;
        uint256 fees;
        for (uint256 i; i < agents.length; ++i) {
            rewards += claimable(agents[i]) + vault.undripped(agents[i]);
            dollars += converter.pending(agents[i], address(usdc));
            fees += converter.pending(agents[i], address(staking));
        }
        assertGe(token.balanceOf(address(vault)), rewards, "I2 vault");
        assertGe(usdc.balanceOf(address(converter)), dollars, "I2 dollars");
        assertGe(staking.balanceOf(address(converter)), fees, "I2 fees");
    }

    /// @notice I3: stakes sum to the total of their identity, backings to the total of their agent, and these equal the
    /// vault's stake.
    function checkI3() public view {
        for (uint256 i; i < identities.length; ++i) {
            address identity = identities[i];
            bool isAgent = i >= people.length;
            uint256 sum = isAgent ? pool.stakeOf(identity, identity) + pool.stakeOf(address(vault), identity) : 0;
            for (uint256 j; j < people.length; ++j) {
                sum += pool.stakeOf(people[j], identity);
            }
            assertEq(sum, pool.totalStakeOf(identity), "I3 stake");
        }
        for (uint256 i; i < agents.length; ++i) {
            uint256 sum;
            for (uint256 j; j < people.length; ++j) {
                sum += vault.backingOf(agents[i], people[j]);
            }
            assertEq(sum, vault.totalBacking(agents[i]), "I3 backing");
            assertEq(sum, pool.stakeOf(address(vault), agents[i]), "I3 vault");
        }
    }

    /// @notice I6: what an agent served on a day is at most its capacity of that day; the capacity of a day does not
    /// change once the day has begun; all identities together never have more capacity than stake.
    function checkI6() public view {
        for (uint256 i; i < agents.length; ++i) {
            for (uint256 day = block.timestamp / 1 days - 2; day <= block.timestamp / 1 days; ++day) {
                assertLe(settlement.servedNanoUsd(agents[i], day), pool.capacityOn(agents[i], day), "I6 served");
            }
        }
        assertEq(handler.changedCapacities(), 0, "I6 changed");
        assertEq(handler.overcommittedDays(), 0, "I6 overcommitted");
    }

    /// @notice I10: what was minted for an agent is claimed, claimable, not dripped yet, at its Safe, or dust of at
    /// most one unit per rounding of a reward. The proceeds of its fees are minted or pending.
    function checkI10() public view {
        for (uint256 i; i < agents.length; ++i) {
            address id = agents[i];
            uint256 found =
                handler.claimed(id) + claimable(id) + vault.undripped(id) + token.balanceOf(registry.safeOf(id));
            assertLe(found, handler.notified(id), "I10 too much");
            uint256 dust = handler.notified(id) - found;
            assertLe(dust, handler.roundings(id) + people.length, "I10 lost");
            uint256 waiting = converter.pending(id, address(usdc));
            assertEq(handler.dollarsIn(id), handler.notified(id) * minter.SCALE() + waiting, "I10 dollars");
        }
    }

    function claimable(address id) private view returns (uint256 sum) {
        for (uint256 j; j < people.length; ++j) {
            sum += vault.claimable(id, people[j]);
        }
    }
}
