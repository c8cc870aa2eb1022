// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {IAgentRegistry} from "../../interfaces/IAgentRegistry.sol";
import {IInferenceToken} from "../../interfaces/IInferenceToken.sol";
import {IInferenceStaking} from "./IInferenceStaking.sol";

/// @title IBackerVault
/// @notice Lets backers stake the staking-derived token behind an agent and receive, pro rata, half of the tokens that
/// its fees mint.
/// @dev One vault serves all agents of a chain; each agent is accounted separately. Units: backing is in units of the
/// staking-derived token (18 decimals), rewards in token units (1e-6 dollar).
/// Backing on the primary chain is staked in the pool under the agent and raises the agent's capacity. The backer can
/// withdraw it, subject to the pool's cooldown. A secondary chain has no pool: the vault holds the backing, which earns
/// rewards only and can be withdrawn at once.
/// Division: backers get half of the minted tokens, rounded down, and the agent's Safe gets the rest. The Safe gets all
/// new tokens while the agent's total backing is below {MIN_TOTAL_BACKING}. Remaining backers keep their share of earlier
/// rewards.
/// Drip: rewards received on a UTC day are paid out linearly over the next day, to the backers of that day. Backing
/// only around a conversion therefore does not pay, and frequent small conversions do not delay rewards.
/// Rounding: the reward of a backer is rounded down, and fractions of a unit stay in the vault. No balance is ever
/// read, so tokens sent here by a plain transfer belong to no one.
/// Gas: the gas of a call varies by at most a few thousand from second to second, so a wallet's estimate remains valid.
interface IBackerVault {
    /// @notice `backer` added `amount`; the agent's total backing is `totalAfter`.
    event Backed(address indexed agent, address indexed backer, uint256 amount, uint256 totalAfter);

    /// @notice `backer` withdrew `amount`; the agent's total backing is `totalAfter`.
    event Unbacked(address indexed agent, address indexed backer, uint256 amount, uint256 totalAfter);

    /// @notice The agent's fees minted `amount`. Backers receive `toBackers` of it over the next day.
    event Rewarded(address indexed agent, uint256 amount, uint256 toBackers);

    /// @notice `backer` claimed `amount` of rewards.
    event Claimed(address indexed agent, address indexed backer, uint256 amount);

    /// @notice A backer left less than {MIN_TOTAL_BACKING}: the share in the rewards that had not dripped of the backing
    /// that left went to the agent's Safe.
    event ReturnedToSafe(address indexed agent, uint256 amount);

    /// @notice The amount is zero.
    error ZeroAmount();

    /// @notice `agent` was not created on this chain.
    error UnknownAgent(address agent);

    /// @notice The caller is not the converter.
    error OnlyConverter();

    /// @notice The caller's backing of the agent is only `backed`.
    error InsufficientBacking(uint256 asked, uint256 backed);

    /// @notice The token delivered `received` instead of `expected`.
    error WrongAmountReceived(uint256 expected, uint256 received);

    /// @notice The token in which rewards are paid.
    function TOKEN() external view returns (IInferenceToken);

    /// @notice The token with which agents are backed.
    function STAKING_TOKEN() external view returns (IERC20);

    /// @notice The pool in which backing is staked; `address(0)` off the primary chain.
    function POOL() external view returns (IInferenceStaking);

    /// @notice The registry of agents and their Safes.
    function REGISTRY() external view returns (IAgentRegistry);

    /// @notice The converter, the only caller that may add rewards.
    function CONVERTER() external view returns (address);

    /// @notice The least total backing with which an agent's backers get rewards: one unit. Without this minimum, a stake
    /// of almost nothing would take half of the earnings of an agent without backers.
    function MIN_TOTAL_BACKING() external view returns (uint256);

    /// @notice The total backing of `agent`.
    function totalBacking(address agent) external view returns (uint256);

    /// @notice The backing of `agent` by `backer`.
    function backingOf(address agent, address backer) external view returns (uint256);

    /// @notice The rewards that `backer` can claim now.
    function claimable(address agent, address backer) external view returns (uint256);

    /// @notice The rewards of the agent's backers that have not dripped yet.
    function undripped(address agent) external view returns (uint256);

    /// @notice Backs `agent` with `amount` of the caller's staking-derived tokens, which need an allowance.
    /// @dev Reverts with {ZeroAmount}, {UnknownAgent} or {WrongAmountReceived}, or with an error of the token.
    function back(address agent, uint256 amount) external;

    /// @notice Withdraws `amount` of the caller's backing. On the primary chain this requests an exit from the pool to
    /// the caller, which anyone can trigger after the cooldown of one day. The withdrawal is immediate on a secondary chain.
    /// Rewards that have dripped stay claimable.
    /// @dev If less than {MIN_TOTAL_BACKING} remains, the share of `amount` in the rewards that have not dripped goes to
    /// the agent's Safe. Reverts with {ZeroAmount} or {InsufficientBacking}.
    function unback(address agent, uint256 amount) external;

    /// @notice Pays the caller the rewards that have dripped.
    function claim(address agent) external returns (uint256 amount);

    /// @notice Divides `amount` between the backers and the Safe of `agent`.
    /// @dev Trust: the converter has minted `amount` to this vault before. Reverts with {OnlyConverter}.
    function reward(address agent, uint256 amount) external;
}
