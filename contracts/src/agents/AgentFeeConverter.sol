// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {IUniswapV3Factory} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Factory.sol";
import {IUniswapV3Pool} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {IStablecoin} from "../interfaces/IStablecoin.sol";
import {ITokenMinter} from "../interfaces/ITokenMinter.sol";
import {MarketTrader} from "./MarketTrader.sol";
import {IAgentFeeConverter} from "./interfaces/IAgentFeeConverter.sol";
import {IBackerVault} from "./interfaces/IBackerVault.sol";
import {IMarkets} from "./interfaces/IMarkets.sol";

/// @title AgentFeeConverter
/// @notice Takes a fifth of the agents' fees and converts it into tokens. See {IAgentFeeConverter}.
contract AgentFeeConverter is IAgentFeeConverter, MarketTrader, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /* CONSTANTS */

    /// @inheritdoc IAgentFeeConverter
    uint256 public constant FEE_SHARE_PERCENT = 20;
    /// @inheritdoc IAgentFeeConverter
    uint32 public constant MIN_WINDOW = 10 minutes;
    /// @inheritdoc IAgentFeeConverter
    uint32 public constant MAX_WINDOW = 1 days;
    /// @inheritdoc IAgentFeeConverter
    uint24 public constant MAX_SLIPPAGE_TICKS = 500;

    /* IMMUTABLES */

    /// @inheritdoc IAgentFeeConverter
    IAgentRegistry public immutable REGISTRY;
    /// @inheritdoc IAgentFeeConverter
    IBackerVault public immutable VAULT;
    /// @inheritdoc IAgentFeeConverter
    ITokenMinter public immutable MINTER;
    /// @inheritdoc IAgentFeeConverter
    IStablecoin public immutable STABLECOIN;
    /// @inheritdoc IAgentFeeConverter
    IUniswapV3Factory public immutable UNISWAP_FACTORY;
    /// @inheritdoc IAgentFeeConverter
    address public immutable TIMELOCK;

    /// @dev Stablecoin units per token unit.
    uint256 internal immutable SCALE;

    /* STORAGE */

    /// @inheritdoc IAgentFeeConverter
    mapping(address agent => mapping(address feeToken => uint256)) public pending;

    mapping(address token => Market) internal _markets;
    /// @dev The last market of a token, listed or not: shares that were taken before it was unlisted are sold there.
    mapping(address token => Market) internal _lastMarkets;

    /* CONSTRUCTOR */

    /// @param stablecoin the stablecoin of `minter`
    /// @param first the initial listings; their pools must already be deployed
    constructor(
        IAgentRegistry registry,
        IBackerVault vault,
        ITokenMinter minter,
        IStablecoin stablecoin,
        IUniswapV3Factory uniswapFactory,
        address timelock,
        Listing[] memory first
    ) {
        REGISTRY = registry;
        VAULT = vault;
        MINTER = minter;
        STABLECOIN = stablecoin;
        SCALE = 10 ** (stablecoin.decimals() - 6);
        UNISWAP_FACTORY = uniswapFactory;
        TIMELOCK = timelock;
        for (uint256 i; i < first.length; ++i) {
            _list(first[i]);
        }
        // An unlimited allowance is safe: the minter pulls only from its caller, and only the amount to mint.
        IERC20(stablecoin).forceApprove(address(minter), type(uint256).max);
    }

    /* MODIFIERS */

    modifier onlyTimelock() {
        require(msg.sender == TIMELOCK, OnlyTimelock());
        _;
    }

    /* FEES */

    /// @inheritdoc IAgentFeeConverter
    function notifyFee(address agent, address feeToken, uint256 fee) external nonReentrant returns (uint256 taken) {
        if (feeToken == agent || !_isListed(feeToken) || !REGISTRY.isAgent(agent)) return 0;
        taken = fee * FEE_SHARE_PERCENT / 100;
        if (taken == 0) return 0;

        uint256 pendingAfter = pending[agent][feeToken] + taken;
        pending[agent][feeToken] = pendingAfter;
        emit FeeTaken(agent, feeToken, msg.sender, taken, pendingAfter);

        uint256 balanceBefore = IERC20(feeToken).balanceOf(address(this));
        IERC20(feeToken).safeTransferFrom(msg.sender, address(this), taken);
        uint256 received = IERC20(feeToken).balanceOf(address(this)) - balanceBefore;
        require(received == taken, WrongAmountReceived(taken, received));
    }

    /// @inheritdoc IAgentFeeConverter
    function convert(address agent, address feeToken) external nonReentrant returns (uint256 minted) {
        uint256 sold;
        uint256 bought;
        uint256 dollars = pending[agent][address(STABLECOIN)];
        if (feeToken != address(STABLECOIN)) {
            Market memory market = _lastMarkets[feeToken];
            require(address(market.pool) != address(0), NotListed(feeToken));
            uint256 booked = pending[agent][feeToken];
            require(booked != 0, NothingToConvert());
            (sold, bought) = _exchange(market, feeToken, address(STABLECOIN), booked);
            pending[agent][feeToken] = booked - sold;
            dollars += bought;
        }

        minted = dollars / SCALE;
        require(minted != 0, NothingToConvert());
        pending[agent][address(STABLECOIN)] = dollars % SCALE;
        emit Converted(agent, feeToken, sold, bought, minted);
        MINTER.mint(minted, address(VAULT));
        VAULT.reward(agent, minted);
    }

    /* MARKETS */

    /// @inheritdoc IAgentFeeConverter
    function list(Listing calldata listing) external onlyTimelock {
        _list(listing);
    }

    /// @inheritdoc IAgentFeeConverter
    function unlist(address token) external onlyTimelock {
        require(address(_markets[token].pool) != address(0), NotListed(token));
        delete _markets[token];
        emit MarketChanged(token, address(0), 0, 0);
    }

    /* VIEWS */

    /// @inheritdoc IMarkets
    function marketOf(address token) external view returns (Market memory) {
        return _markets[token];
    }

    /* INTERNAL */

    function _list(Listing memory listing) internal {
        (address token, uint32 window, uint24 slippageTicks) = (listing.token, listing.window, listing.slippageTicks);
        bool isInBounds =
            window >= MIN_WINDOW && window <= MAX_WINDOW && slippageTicks != 0 && slippageTicks <= MAX_SLIPPAGE_TICKS;
        require(isInBounds, MarketOutOfBounds(window, slippageTicks));
        address pool = UNISWAP_FACTORY.getPool(token, address(STABLECOIN), listing.feeTier);
        require(pool != address(0), NoPool(token, listing.feeTier));

        Market memory market = Market(IUniswapV3Pool(pool), window, slippageTicks);
        (_markets[token], _lastMarkets[token]) = (market, market);
        emit MarketChanged(token, pool, window, slippageTicks);
    }

    function _isListed(address feeToken) internal view returns (bool) {
        return feeToken == address(STABLECOIN) || address(_markets[feeToken].pool) != address(0);
    }
}
