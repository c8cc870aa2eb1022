// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {MarketTrader} from "./MarketTrader.sol";
import {IAgentFeeConverter} from "./interfaces/IAgentFeeConverter.sol";
import {IAgentTreasury} from "./interfaces/IAgentTreasury.sol";
import {IInferenceStaking} from "./interfaces/IInferenceStaking.sol";
import {IMarkets} from "./interfaces/IMarkets.sol";

/// @title AgentTreasury
/// @notice Converts its dollars into stake of one agent; nothing can be withdrawn. See {IAgentTreasury}.
contract AgentTreasury is IAgentTreasury, MarketTrader {
    using SafeERC20 for IERC20;

    /* IMMUTABLES */

    /// @inheritdoc IAgentTreasury
    address public immutable AGENT;
    /// @inheritdoc IAgentTreasury
    IERC20 public immutable STABLECOIN;
    /// @inheritdoc IAgentTreasury
    IERC20 public immutable STAKING_TOKEN;
    /// @inheritdoc IAgentTreasury
    IInferenceStaking public immutable POOL;
    /// @inheritdoc IAgentTreasury
    IMarkets public immutable MARKETS;

    /* CONSTRUCTOR */

    constructor(address agent, IInferenceStaking pool, IAgentFeeConverter markets) {
        AGENT = agent;
        STABLECOIN = markets.STABLECOIN();
        STAKING_TOKEN = pool.STAKING_TOKEN();
        POOL = pool;
        MARKETS = markets;
        STAKING_TOKEN.forceApprove(address(pool), type(uint256).max);
    }

    /* BUY */

    /// @inheritdoc IAgentTreasury
    function buy() external returns (uint256 entered) {
        uint256 spent;
        uint256 bought;
        uint256 dollars = STABLECOIN.balanceOf(address(this));
        if (dollars != 0) {
            IMarkets.Market memory market = MARKETS.marketOf(address(STAKING_TOKEN));
            if (address(market.pool) != address(0)) {
                (spent, bought) = _exchange(market, address(STABLECOIN), address(STAKING_TOKEN), dollars);
            } else {
                // Without a market the dollars wait, and do not keep the units from being staked.
                bool hasUnits = STAKING_TOKEN.balanceOf(address(this)) != 0;
                require(hasUnits, IMarkets.NotListed(address(STAKING_TOKEN)));
            }
        }
        entered = STAKING_TOKEN.balanceOf(address(this));
        require(entered != 0, NothingToEnter());
        emit Bought(spent, bought, entered);
        POOL.enterFor(AGENT, entered);
    }
}
