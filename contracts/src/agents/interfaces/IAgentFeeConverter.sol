// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IUniswapV3Factory} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Factory.sol";

import {IAgentRegistry} from "../../interfaces/IAgentRegistry.sol";
import {IStablecoin} from "../../interfaces/IStablecoin.sol";
import {ITokenMinter} from "../../interfaces/ITokenMinter.sol";
import {IBackerVault} from "./IBackerVault.sol";
import {IMarkets} from "./IMarkets.sol";

/// @title IAgentFeeConverter
/// @notice Takes a fifth of an agent's fees in the stablecoin and in listed tokens. It swaps them for dollars on the
/// market, mints tokens at par, and passes these to the vault for the agent's backers and Safe.
/// @dev Units: `fee`, `taken`, `sold` and {pending} are in units of the fee token, `dollars` in units of the
/// stablecoin, `minted` in token units (1e-6 dollar).
/// Fees are handled in two steps. {notifyFee} runs within a trade and only takes and books the fee. This keeps the gas
/// cost for the trader low, prevents a market failure from blocking the trade, and prevents reentrancy into a pool.
/// {convert} can be called by anyone at any time; a keeper calls it.
/// The caller of {convert} controls only the time of the call. The price limit of the market (see {IMarkets}) bounds
/// the profit of a sandwich attack. The part that cannot be swapped within the limit stays pending.
/// Trust: the timelock lists only plain tokens that transfer the exact amount, with pools that have deep liquidity
/// throughout the window. It never lists an agent's own token (a fee in that token is rejected in any case).
/// A remainder below one token unit stays in {pending} of the stablecoin and is included in the next conversion.
interface IAgentFeeConverter is IMarkets {
    /// @notice A market as given by the timelock. The pool is that of the factory for this token, the stablecoin and
    /// `feeTier`.
    struct Listing {
        address token;
        uint24 feeTier;
        uint32 window;
        uint24 slippageTicks;
    }

    /// @notice Fees in `token` are taken and swapped on `pool`. If `pool` is `address(0)`, they are no longer taken.
    event MarketChanged(address indexed token, address indexed pool, uint32 window, uint24 slippageTicks);

    /// @notice `taken` of a fee was booked for the agent.
    event FeeTaken(
        address indexed agent, address indexed feeToken, address indexed payer, uint256 taken, uint256 pendingAfter
    );

    /// @notice `sold` of the fee token was swapped for `dollars`. These, with the remainder of earlier conversions,
    /// minted `minted`.
    event Converted(address indexed agent, address indexed feeToken, uint256 sold, uint256 dollars, uint256 minted);

    /// @notice The caller is not the timelock.
    error OnlyTimelock();

    /// @notice The factory has no pool for the token, the stablecoin and this fee tier.
    error NoPool(address token, uint24 feeTier);

    /// @notice The window must be {MIN_WINDOW} to {MAX_WINDOW} seconds, and the slippage 1 to {MAX_SLIPPAGE_TICKS}
    /// ticks.
    error MarketOutOfBounds(uint32 window, uint24 slippageTicks);

    /// @notice The fee token delivered `received` instead of `expected`.
    error WrongAmountReceived(uint256 expected, uint256 received);

    /// @notice The booked amount is less than one token unit.
    error NothingToConvert();

    /// @notice The share of a fee that is taken: 20 %.
    function FEE_SHARE_PERCENT() external view returns (uint256);

    /// @notice The shortest averaging window: 10 minutes.
    function MIN_WINDOW() external view returns (uint32);

    /// @notice The longest averaging window: one day.
    function MAX_WINDOW() external view returns (uint32);

    /// @notice The largest slippage that can be listed: 500 ticks, 5.1 %.
    function MAX_SLIPPAGE_TICKS() external view returns (uint24);

    /// @notice The registry of agents.
    function REGISTRY() external view returns (IAgentRegistry);

    /// @notice The vault, which receives the minted tokens and divides them.
    function VAULT() external view returns (IBackerVault);

    /// @notice The minter, which mints at par.
    function MINTER() external view returns (ITokenMinter);

    /// @notice The stablecoin of this chain. Fees in it are always taken.
    function STABLECOIN() external view returns (IStablecoin);

    /// @notice Uniswap v3's factory on this chain.
    function UNISWAP_FACTORY() external view returns (IUniswapV3Factory);

    /// @notice The timelock, which lists tokens after its delay.
    function TIMELOCK() external view returns (address);

    /// @notice The fees in `feeToken` that were taken for the agent and are not converted yet. For the stablecoin this
    /// includes the remainder of earlier conversions.
    function pending(address agent, address feeToken) external view returns (uint256);

    /// @notice Takes {FEE_SHARE_PERCENT} of `fee`, rounded down, from the caller by allowance and books it for `agent`.
    /// The collector of an agent's fees calls it with the full amount of each fee. Anyone may call it, because the
    /// caller pays.
    /// @return taken the amount taken. It is 0, without a revert, for the agent's own token, for a token that is not
    /// listed, and for an `agent` that was not created on this chain
    /// @dev Reverts with {WrongAmountReceived} or with an error of the fee token. Emits {FeeTaken} unless `taken` is 0.
    function notifyFee(address agent, address feeToken, uint256 fee) external returns (uint256 taken);

    /// @notice Swaps the pending fees of `agent` in `feeToken`, up to the price limit of the market, and mints tokens
    /// for the dollars to the vault, which divides them. Anyone may call it.
    /// @dev Reverts with {NotListed} if the token never was, or {NothingToConvert}; with the pool's error if its price is beyond the limit
    /// (`SPL`) or its history is shorter than the window (`OLD`); or with an error of the minter. After a revert all
    /// fees stay pending.
    function convert(address agent, address feeToken) external returns (uint256 minted);

    /// @notice Lists a token, or changes its market.
    /// @dev Reverts with {OnlyTimelock}, {MarketOutOfBounds} or {NoPool}.
    function list(Listing calldata listing) external;

    /// @notice Stops taking fees in `token`. Fees already booked in it are still converted on its last market.
    /// @dev Reverts with {OnlyTimelock} or {NotListed}.
    function unlist(address token) external;
}
