// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {IInferenceStaking} from "./IInferenceStaking.sol";
import {IMarkets} from "./IMarkets.sol";

/// @title IAgentTreasury
/// @notice One agent's permalocked treasury: its dollars buy the staking-derived token, which is staked under the agent
/// for ever. No function lets anything out.
/// @dev Primary chain only. Units: `spent` in units of the stablecoin, `bought` and `entered` in units of the
/// staking-derived token. Trust: nobody has a role here; the price is bounded by the market that the timelock lists.
interface IAgentTreasury {
    /// @notice `spent` dollars bought `bought`, and all that was here, `entered`, is staked under the agent.
    event Bought(uint256 spent, uint256 bought, uint256 entered);

    /// @notice There is nothing to stake.
    error NothingToEnter();

    /// @notice The agent that it belongs to.
    function AGENT() external view returns (address);

    /// @notice The chain's dollar.
    function STABLECOIN() external view returns (IERC20);

    /// @notice What it buys.
    function STAKING_TOKEN() external view returns (IERC20);

    /// @notice Where it is staked.
    function POOL() external view returns (IInferenceStaking);

    /// @notice Knows the market, and the worst price to buy at.
    function MARKETS() external view returns (IMarkets);

    /// @notice Spends the dollars that are here as far as the market's bound lets it, and stakes all staking-derived tokens
    /// that are here under the agent. Anyone may call it.
    /// @dev Reverts with `NotListed`, {NothingToEnter}, or as the pool does if its price is beyond the bound (`SPL`) or its
    /// history shorter than the window (`OLD`).
    function buy() external returns (uint256 entered);
}
