// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {IInferenceStaking} from "./IInferenceStaking.sol";
import {IMarkets} from "./IMarkets.sol";

/// @title IAgentTreasury
/// @notice The permanently locked treasury of one agent. Its dollars buy the staking-derived token, which is staked
/// under the agent permanently. There is no withdrawal function.
/// @dev Primary chain only. Units: `spent` is in units of the stablecoin, `bought` and `entered` in units of the
/// staking-derived token. Trust: no account has a privileged role. The market that the timelock lists bounds the price.
interface IAgentTreasury {
    /// @notice `spent` dollars bought `bought`, and the full balance, `entered`, was staked under the agent.
    event Bought(uint256 spent, uint256 bought, uint256 entered);

    /// @notice There is nothing to stake.
    error NothingToEnter();

    /// @notice The agent that owns this treasury.
    function AGENT() external view returns (address);

    /// @notice The stablecoin of this chain.
    function STABLECOIN() external view returns (IERC20);

    /// @notice The token that it buys and stakes.
    function STAKING_TOKEN() external view returns (IERC20);

    /// @notice The pool in which it stakes.
    function POOL() external view returns (IInferenceStaking);

    /// @notice The contract that lists the market and its price limit.
    function MARKETS() external view returns (IMarkets);

    /// @notice Spends the treasury's dollars, up to the price limit of the market, and stakes its full balance of the
    /// staking-derived token under the agent. The dollars wait if no market is listed, and the balance is staked.
    /// Anyone may call it.
    /// @dev Reverts with `NotListed` (it has only dollars, and there is no market) or {NothingToEnter}; or with the
    /// error of the market's pool if its price is beyond the limit (`SPL`) or its history is shorter than the window
    /// (`OLD`).
    function buy() external returns (uint256 entered);
}
