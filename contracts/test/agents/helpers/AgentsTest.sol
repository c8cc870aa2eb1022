// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IUniswapV3Pool} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";

import {AgentFeeConverter} from "../../../src/agents/AgentFeeConverter.sol";
import {AgentRegistry} from "../../../src/agents/AgentRegistry.sol";
import {AgentToken} from "../../../src/agents/AgentToken.sol";
import {AgentTreasury} from "../../../src/agents/AgentTreasury.sol";
import {BackerVault} from "../../../src/agents/BackerVault.sol";
import {InferencePool} from "../../../src/agents/InferencePool.sol";
import {IAgentFeeConverter} from "../../../src/agents/interfaces/IAgentFeeConverter.sol";
import {PlainDollar} from "../../helpers/Dollars.sol";
import {ISafe} from "./ISafe.sol";
import {UniswapTest} from "./UniswapTest.sol";

/// @notice The agents' contracts on the primary chain as deployed in production: real Uniswap pools, real Safes, all
/// contracts through the factory.
abstract contract AgentsTest is UniswapTest {
    string internal constant SAFE = "../node_modules/@safe-global/safe-smart-account/build/artifacts/contracts/";
    uint256 internal constant STAKE_PRICE_USD = 300;
    uint256 internal constant STOCK_PRICE_USD = 50;
    uint32 internal constant WINDOW = 30 minutes;
    uint24 internal constant SLIPPAGE_TICKS = 100;

    address internal safeFactory;
    address internal safeSingleton;
    address internal safeFallbackHandler;

    PlainDollar internal staking;
    PlainDollar internal stock;
    IUniswapV3Pool internal stakingMarket;
    IUniswapV3Pool internal stockMarket;

    InferencePool internal pool;
    AgentRegistry internal registry;
    BackerVault internal vault;
    AgentFeeConverter internal converter;

    address internal agentOwner;
    uint256 internal agentOwnerKey;
    AgentToken internal agent;
    address internal agentSafe;
    AgentTreasury internal treasury;
    address internal hook = makeAddr("hook");

    function setUp() public virtual override {
        super.setUp();
        deployMarkets();
        deploySafe();
        deployAgents();
        (agentOwner, agentOwnerKey) = makeAddrAndKey("agentOwner");
        agent = createAgent(agentOwner);
        agentSafe = registry.safeOf(address(agent));
        treasury = AgentTreasury(registry.treasuryOf(address(agent)));
        vm.warp(block.timestamp + 1 hours);
    }

    /// @dev Both tokens have 18 decimals. A million dollars on each side, over the full price range.
    function deployMarkets() internal {
        deployUniswap();
        staking = new PlainDollar(18);
        stock = new PlainDollar(18);
        stakingMarket = deployMarket(staking, STAKE_PRICE_USD);
        stockMarket = deployMarket(stock, STOCK_PRICE_USD);
    }

    function deployMarket(PlainDollar feeToken, uint256 priceUsd) internal returns (IUniswapV3Pool market) {
        uint256 dollar = 10 ** usdc.decimals();
        market = createPool(address(feeToken), address(usdc), 3000, 1e18, priceUsd * dollar);
        market.increaseObservationCardinalityNext(64);
        (uint256 tokens, uint256 dollars) = (1e24 / priceUsd, 1e6 * dollar);
        feeToken.mint(address(this), tokens);
        PlainDollar(address(usdc)).mint(address(this), dollars);
        (uint256 amount0, uint256 amount1) = market.token0() == address(usdc) ? (dollars, tokens) : (tokens, dollars);
        addLiquidity(market, amount0, amount1, -MAX_TICK, MAX_TICK);
    }

    function deploySafe() private {
        safeFactory = deployCode(string.concat(SAFE, "proxies/SafeProxyFactory.sol/SafeProxyFactory.json"));
        safeSingleton = deployCode(string.concat(SAFE, "SafeL2.sol/SafeL2.json"));
        safeFallbackHandler = deployCode(
            string.concat(SAFE, "handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json")
        );
    }

    /// @dev A mutant can replace pool, vault or converter.
    function poolCode() internal pure virtual returns (bytes memory) {
        return type(InferencePool).creationCode;
    }

    function vaultCode() internal pure virtual returns (bytes memory) {
        return type(BackerVault).creationCode;
    }

    function converterCode() internal pure virtual returns (bytes memory) {
        return type(AgentFeeConverter).creationCode;
    }

    function deployAgents() internal {
        pool = InferencePool(factory.addressOf("InferencePool"));
        factory.deploy("InferencePool", bytes.concat(poolCode(), abi.encode(staking)));
        deployAgentsBesidePool();
    }

    function deployAgentsBesidePool() internal {
        registry = AgentRegistry(factory.addressOf("AgentRegistry"));
        vault = BackerVault(factory.addressOf("BackerVault"));
        converter = AgentFeeConverter(factory.addressOf("AgentFeeConverter"));
        factory.deploy(
            "AgentRegistry",
            bytes.concat(
                type(AgentRegistry).creationCode,
                abi.encode(pool, converter, safeFactory, safeSingleton, safeFallbackHandler)
            )
        );
        factory.deploy("BackerVault", bytes.concat(vaultCode(), abi.encode(token, staking, pool, registry, converter)));
        factory.deploy(
            "AgentFeeConverter",
            bytes.concat(
                converterCode(), abi.encode(registry, vault, minter, usdc, uniswapFactory, timelock, firstListings())
            )
        );
    }

    function firstListings() internal view returns (IAgentFeeConverter.Listing[] memory listings) {
        listings = new IAgentFeeConverter.Listing[](2);
        listings[0] = IAgentFeeConverter.Listing(address(staking), 3000, WINDOW, SLIPPAGE_TICKS);
        listings[1] = IAgentFeeConverter.Listing(address(stock), 3000, WINDOW, SLIPPAGE_TICKS);
    }

    function createAgent(address owner) internal returns (AgentToken) {
        return AgentToken(registry.create("Agent", "AGENT", 1e24, owner));
    }

    /// @dev The hook collects a fee and notifies the converter.
    function notify(address agent_, PlainDollar feeToken, uint256 fee) internal returns (uint256 taken) {
        feeToken.mint(hook, fee);
        vm.startPrank(hook);
        feeToken.approve(address(converter), fee);
        taken = converter.notifyFee(agent_, address(feeToken), fee);
        vm.stopPrank();
    }

    function notifyDollars(address agent_, uint256 fee) internal returns (uint256 taken) {
        return notify(agent_, PlainDollar(address(usdc)), fee);
    }

    function back(address backer, address agent_, uint256 amount) internal {
        staking.mint(backer, amount);
        vm.startPrank(backer);
        staking.approve(address(vault), amount);
        vault.back(agent_, amount);
        vm.stopPrank();
    }

    function enter(address staker, uint256 amount) internal {
        staking.mint(staker, amount);
        vm.startPrank(staker);
        staking.approve(address(pool), amount);
        pool.enter(amount);
        vm.stopPrank();
    }

    /// @dev Warps to `time` within the day that is `days_` after today.
    function warpTo(uint256 days_, uint256 time) internal {
        vm.warp((block.timestamp / 1 days + days_) * 1 days + time);
    }

    /// @dev Makes the Safe, whose only signer has `key`, call `to`.
    function safeCall(address safe, uint256 key, address to, bytes memory data) internal {
        bytes32 hash =
            ISafe(safe).getTransactionHash(to, 0, data, 0, 0, 0, 0, address(0), address(0), ISafe(safe).nonce());
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, hash);
        ISafe(safe).execTransaction(to, 0, data, 0, 0, 0, 0, address(0), payable(address(0)), abi.encodePacked(r, s, v));
    }
}
