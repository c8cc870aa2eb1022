// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";

import {IAgentRegistry} from "../../interfaces/IAgentRegistry.sol";
import {IStablecoin} from "../../interfaces/IStablecoin.sol";
import {IAgentFeeConverter} from "./IAgentFeeConverter.sol";
import {IInferenceStaking} from "./IInferenceStaking.sol";

/// @title IAgentFeeLocker
/// @notice Owns the agents' Uniswap v3 positions for ever, and passes on their fees.
/// @dev Of a fee in the staking-derived token, the stablecoin or another listed token, the converter takes its fifth.
/// The rest of a fee in the staking-derived token is staked for the agent; the rest of any other fee goes to the
/// agent's Safe. A fee in the agent's own token goes to the Safe whole. A fee in a token that is not listed waits here.
/// Off the primary chain there is no pool: the rest of a fee in the staking-derived token goes to the Safe.
/// A position comes by `safeTransferFrom` with the agent as data. Its liquidity never leaves. Anyone may add to it.
/// Units: those of the fee token.
/// Trust: no account has a role. A token of a position may be hostile: it can lose or fake fees in itself, of all
/// agents that have such a position, and of no other token.
interface IAgentFeeLocker is IERC721Receiver {
    /// @notice The position belongs to the agent from now on.
    event Locked(address indexed agent, uint256 indexed positionId);

    /// @notice `amount` of a position's fees arrived.
    event Collected(address indexed agent, uint256 indexed positionId, address indexed feeToken, uint256 amount);

    /// @notice A waiting amount was passed on: `taken` by the converter, `staked` for the agent, the rest to its Safe.
    event Released(address indexed agent, address indexed feeToken, uint256 taken, uint256 staked, uint256 toSafe);

    /// @notice Only Uniswap's position manager hands over positions.
    error OnlyPositionManager();

    /// @notice The registry of this chain did not create the agent.
    error UnknownAgent(address agent);

    /// @notice The position is not locked here.
    error UnknownPosition(uint256 positionId);

    /// @notice The token is not listed, so its fees wait.
    error NotListed(address feeToken);

    /// @notice No fees of the agent wait in this token.
    error NothingWaiting();

    /// @notice The gas does not suffice for a release.
    error TooLittleGas();

    /// @notice The registry of agents.
    function REGISTRY() external view returns (IAgentRegistry);

    /// @notice The converter, which lists tokens and takes its share.
    function CONVERTER() external view returns (IAgentFeeConverter);

    /// @notice The agents' pool; `address(0)` off the primary chain.
    function POOL() external view returns (IInferenceStaking);

    /// @notice The stablecoin of this chain. Fees in it never wait.
    function STABLECOIN() external view returns (IStablecoin);

    /// @notice The staking-derived token.
    function STAKING_TOKEN() external view returns (address);

    /// @notice Uniswap v3's NonfungiblePositionManager.
    function POSITIONS() external view returns (IPositionManager);

    /// @notice The agent of a position; `address(0)` if it is not locked here.
    function agentOf(uint256 positionId) external view returns (address agent);

    /// @notice The fees of an agent that are here: collected, and not released yet.
    function waiting(address agent, address feeToken) external view returns (uint256);

    /// @notice Collects the fees of a position and releases what waits of its agent in both tokens, where it can.
    /// Anyone may call it.
    /// @dev A release that fails leaves its amount waiting, and does not stop the other. Reverts with
    /// {UnknownPosition} or {TooLittleGas}.
    function collect(uint256 positionId) external;

    /// @notice Passes on what waits of an agent in a token. Anyone may call it.
    /// @dev Reverts with {NothingWaiting} or {NotListed}, or with an error of token, converter or pool.
    function release(address agent, address feeToken) external;
}

/// @title IPositionManager
/// @notice The functions of Uniswap's NonfungiblePositionManager that the locker calls. Its own interface needs an
/// older OpenZeppelin.
interface IPositionManager {
    /// @dev Uniswap returns these as separate values, which have the same encoding.
    struct Position {
        uint96 nonce;
        address operator;
        address token0;
        address token1;
        uint24 fee;
        int24 tickLower;
        int24 tickUpper;
        uint128 liquidity;
        uint256 feeGrowthInside0LastX128;
        uint256 feeGrowthInside1LastX128;
        uint128 tokensOwed0;
        uint128 tokensOwed1;
    }

    struct CollectParams {
        uint256 tokenId;
        address recipient;
        uint128 amount0Max;
        uint128 amount1Max;
    }

    function positions(uint256 tokenId) external view returns (Position memory);
    function collect(CollectParams calldata params) external returns (uint256 amount0, uint256 amount1);
}
