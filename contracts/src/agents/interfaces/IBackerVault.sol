// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {IAgentRegistry} from "../../interfaces/IAgentRegistry.sol";
import {IInferenceToken} from "../../interfaces/IInferenceToken.sol";
import {IInferenceStaking} from "./IInferenceStaking.sol";

/// @title IBackerVault
/// @notice Back an agent with units of the staking-derived token and get half of the tokens that its fees mint, pro rata.
/// @dev One vault for all agents of a chain; their books touch nowhere. Units: backing is in units of the staking-derived
/// token (18 decimals), rewards in token units (1e-6 dollar).
/// On the primary chain backing is staked in the pool under the agent, so it raises the agent's capacity; its backer keeps
/// the right to take it out, with the pool's cooldown. Elsewhere there is no pool: backing waits here for rewards only,
/// and is given back at once.
/// Division: of what the converter mints, backers get half, rounded down, and the agent's Safe the rest; the Safe gets all
/// while nobody backs.
/// The drip: what comes in on a UTC day is paid out evenly over the next one, to whoever backs then. So it does not pay to
/// come for one conversion, and many small conversions delay nothing.
/// Rounding: what a backer is owed is rounded down; fractions of a unit stay here. No balance is ever read: tokens that are
/// sent here plainly are a gift to nobody.
/// Gas: a call costs the same at every second, within a few thousand, so that a wallet's estimate holds until it runs.
interface IBackerVault {
    /// @notice `backer` added `amount`; all backing of the agent is `totalAfter`.
    event Backed(address indexed agent, address indexed backer, uint256 amount, uint256 totalAfter);

    /// @notice `backer` took `amount` out; all backing of the agent is `totalAfter`.
    event Unbacked(address indexed agent, address indexed backer, uint256 amount, uint256 totalAfter);

    /// @notice The agent's fees minted `amount`, of which backers get `toBackers` over the next day.
    event Rewarded(address indexed agent, uint256 amount, uint256 toBackers);

    /// @notice `backer` was paid.
    event Claimed(address indexed agent, address indexed backer, uint256 amount);

    /// @notice The last backer left: what had not dripped yet went to the agent's Safe.
    event ReturnedToSafe(address indexed agent, uint256 amount);

    /// @notice The amount is zero.
    error ZeroAmount();

    /// @notice `agent` was not born on this chain.
    error UnknownAgent(address agent);

    /// @notice The caller is not the converter.
    error OnlyConverter();

    /// @notice The caller backs the agent with `backed` only.
    error InsufficientBacking(uint256 asked, uint256 backed);

    /// @notice The token delivered `received` where `expected` were due.
    error WrongAmountReceived(uint256 expected, uint256 received);

    /// @notice The token that rewards are paid in.
    function TOKEN() external view returns (IInferenceToken);

    /// @notice The token that agents are backed with.
    function STAKING_TOKEN() external view returns (IERC20);

    /// @notice Where backing is staked; `address(0)` off the primary chain.
    function POOL() external view returns (IInferenceStaking);

    /// @notice Knows the agents and their Safes.
    function REGISTRY() external view returns (IAgentRegistry);

    /// @notice The only one that brings rewards.
    function CONVERTER() external view returns (address);

    /// @notice All backing of `agent`.
    function totalBacking(address agent) external view returns (uint256);

    /// @notice What of it is `backer`'s.
    function backingOf(address agent, address backer) external view returns (uint256);

    /// @notice What `backer` can claim now.
    function claimable(address agent, address backer) external view returns (uint256);

    /// @notice What is meant for the agent's backers and has not dripped yet.
    function undripped(address agent) external view returns (uint256);

    /// @notice Backs `agent` with `amount` of the caller's staking-derived tokens, which need an allowance.
    /// @dev Reverts with {ZeroAmount}, {UnknownAgent}, {WrongAmountReceived}, or as the token does.
    function back(address agent, uint256 amount) external;

    /// @notice Takes `amount` of the caller's backing out: on the primary chain as an exit of the pool to the caller, which
    /// anyone may have paid after a day; elsewhere at once. What dripped until now stays claimable.
    /// @dev If nobody backs the agent any more, what has not dripped goes to its Safe. Reverts with {ZeroAmount},
    /// {InsufficientBacking}.
    function unback(address agent, uint256 amount) external;

    /// @notice Pays the caller what has dripped.
    function claim(address agent) external returns (uint256 amount);

    /// @notice Divides `amount` between the backers and the Safe of `agent`.
    /// @dev Trust: the converter has minted `amount` to this vault before. Reverts with {OnlyConverter}.
    function reward(address agent, uint256 amount) external;
}
