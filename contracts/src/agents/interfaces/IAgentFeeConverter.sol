// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IUniswapV3Factory} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Factory.sol";

import {IAgentRegistry} from "../../interfaces/IAgentRegistry.sol";
import {IStablecoin} from "../../interfaces/IStablecoin.sol";
import {ITokenMinter} from "../../interfaces/ITokenMinter.sol";
import {IBackerVault} from "./IBackerVault.sol";
import {IMarkets} from "./IMarkets.sol";

/// @title IAgentFeeConverter
/// @notice Takes a fifth of what an agent earns in the staking-derived token, dollars and listed stocks, turns it into
/// dollars on the market and into tokens at the par door, and gives them to the agent's backers and Safe.
/// @dev Units: `fee`, `taken`, `sold` and {pending} are in units of the fee token, `dollars` in units of the stablecoin,
/// `minted` in token units (1e-6 dollar).
/// Two steps. {notifyFee} runs within a trade: it only takes and books, so that a fee costs the trader little, a market in
/// trouble stops no trade, and a pool is never entered twice. {convert} is for anyone, at any time; a keeper calls it.
/// The caller of {convert} chooses the moment and nothing else: the market's floor (see {IMarkets}) bounds what a trade
/// before and after it can take, and what the floor does not let through waits.
/// Trust: the timelock lists tokens: plain ones that move exactly what they are told to, never an agent's own (a fee in
/// it is refused by name anyway), with pools that are deep over their whole window.
/// What is not whole token units stays in {pending} of the stablecoin and counts the next time.
interface IAgentFeeConverter is IMarkets {
    /// @notice A market as the timelock names it: the pool is the factory's, of this token, the dollar and `feeTier`.
    struct Listing {
        address token;
        uint24 feeTier;
        uint32 window;
        uint24 slippageTicks;
    }

    /// @notice Fees in `token` are taken and exchanged on `pool`; `address(0)`: no more.
    event MarketChanged(address indexed token, address indexed pool, uint32 window, uint24 slippageTicks);

    /// @notice `taken` of a fee is booked for the agent.
    event FeeTaken(
        address indexed agent, address indexed feeToken, address indexed payer, uint256 taken, uint256 pendingAfter
    );

    /// @notice `sold` of the fee token became `dollars`, and these and what was left of earlier ones became `minted`.
    event Converted(address indexed agent, address indexed feeToken, uint256 sold, uint256 dollars, uint256 minted);

    /// @notice The caller is not the timelock.
    error OnlyTimelock();

    /// @notice There is no such pool.
    error NoPool(address token, uint24 feeTier);

    /// @notice A window is {MIN_WINDOW} to {MAX_WINDOW} seconds, a slippage 1 to {MAX_SLIPPAGE_TICKS} ticks.
    error MarketOutOfBounds(uint32 window, uint24 slippageTicks);

    /// @notice The fee token delivered `received` where `expected` were due.
    error WrongAmountReceived(uint256 expected, uint256 received);

    /// @notice What is booked does not make one token unit.
    error NothingToConvert();

    /// @notice What of a fee is taken: 20 %.
    function FEE_SHARE_PERCENT() external view returns (uint256);

    /// @notice The shortest time to average a price over: 10 minutes.
    function MIN_WINDOW() external view returns (uint32);

    /// @notice The longest time to average a price over: a day.
    function MAX_WINDOW() external view returns (uint32);

    /// @notice The largest slippage that can be listed: 500 ticks, 5.1 %.
    function MAX_SLIPPAGE_TICKS() external view returns (uint24);

    /// @notice Knows the agents.
    function REGISTRY() external view returns (IAgentRegistry);

    /// @notice Gets what is minted, and divides it.
    function VAULT() external view returns (IBackerVault);

    /// @notice The par door.
    function MINTER() external view returns (ITokenMinter);

    /// @notice The chain's dollar. Fees in it are always taken.
    function STABLECOIN() external view returns (IStablecoin);

    /// @notice Uniswap v3's factory on this chain.
    function UNISWAP_FACTORY() external view returns (IUniswapV3Factory);

    /// @notice Who lists tokens, after its delay.
    function TIMELOCK() external view returns (address);

    /// @notice What was taken of the agent's fees in `feeToken` and is not converted; for the stablecoin also what the
    /// last conversions left.
    function pending(address agent, address feeToken) external view returns (uint256);

    /// @notice Takes {FEE_SHARE_PERCENT} of `fee`, rounded down, from the caller, who needs an allowance, and books it for
    /// `agent`. Whoever collects an agent's fees calls it with each whole fee; anyone may, because the caller pays.
    /// @return taken what was taken: 0, and no revert, for the agent's own token, a token that is not listed, and an
    /// `agent` that was not born here
    /// @dev Reverts with {WrongAmountReceived}, or as the fee token does. Emits {FeeTaken} unless `taken` is 0.
    function notifyFee(address agent, address feeToken, uint256 fee) external returns (uint256 taken);

    /// @notice Exchanges what is booked for `agent` in `feeToken`, as far as the market's floor lets it, and mints tokens
    /// for the dollars, to the vault, which divides them. Anyone may call it.
    /// @dev Reverts with {NotListed}, {NothingToConvert}; as the pool does if its price is beyond the floor (`SPL`) or its
    /// history shorter than the window (`OLD`); or as the door does. A revert leaves everything booked.
    function convert(address agent, address feeToken) external returns (uint256 minted);

    /// @notice Lists a token, or changes its market.
    /// @dev Reverts with {OnlyTimelock}, {MarketOutOfBounds}, {NoPool}.
    function list(Listing calldata listing) external;

    /// @notice Takes no more fees in `token`. What is booked in it waits until it is listed again.
    /// @dev Reverts with {OnlyTimelock}, {NotListed}.
    function unlist(address token) external;
}
