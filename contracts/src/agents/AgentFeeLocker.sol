// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {IStablecoin} from "../interfaces/IStablecoin.sol";
import {IAgentFeeConverter} from "./interfaces/IAgentFeeConverter.sol";
import {IAgentFeeLocker, IPositionManager} from "./interfaces/IAgentFeeLocker.sol";
import {IInferenceStaking} from "./interfaces/IInferenceStaking.sol";

/// @title AgentFeeLocker
/// @notice Owns the agents' positions and passes on their fees. See {IAgentFeeLocker}.
contract AgentFeeLocker is IAgentFeeLocker, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /* IMMUTABLES */

    /// @inheritdoc IAgentFeeLocker
    IAgentRegistry public immutable REGISTRY;
    /// @inheritdoc IAgentFeeLocker
    IAgentFeeConverter public immutable CONVERTER;
    /// @inheritdoc IAgentFeeLocker
    IInferenceStaking public immutable POOL;
    /// @inheritdoc IAgentFeeLocker
    IStablecoin public immutable STABLECOIN;
    /// @inheritdoc IAgentFeeLocker
    address public immutable STAKING_TOKEN;
    /// @inheritdoc IAgentFeeLocker
    IPositionManager public immutable POSITIONS;

    /* STORAGE */

    /// @inheritdoc IAgentFeeLocker
    mapping(uint256 positionId => address) public agentOf;
    /// @inheritdoc IAgentFeeLocker
    mapping(address agent => mapping(address feeToken => uint256)) public waiting;

    /* CONSTRUCTOR */

    constructor(
        IAgentRegistry registry,
        IAgentFeeConverter converter,
        IInferenceStaking pool,
        IStablecoin stablecoin,
        address stakingToken,
        IPositionManager positions
    ) {
        REGISTRY = registry;
        CONVERTER = converter;
        POOL = pool;
        STABLECOIN = stablecoin;
        STAKING_TOKEN = stakingToken;
        POSITIONS = positions;
    }

    /* LOCK */

    /// @inheritdoc IERC721Receiver
    function onERC721Received(address, address, uint256 positionId, bytes calldata data) external returns (bytes4) {
        require(msg.sender == address(POSITIONS), OnlyPositionManager());
        address agent = abi.decode(data, (address));
        require(REGISTRY.isAgent(agent), UnknownAgent(agent));
        agentOf[positionId] = agent;
        emit Locked(agent, positionId);
        return IERC721Receiver.onERC721Received.selector;
    }

    /* FEES */

    /// @inheritdoc IAgentFeeLocker
    function collect(uint256 positionId) external {
        (address agent, address token0, address token1) = _collect(positionId);
        _tryRelease(agent, token0);
        _tryRelease(agent, token1);
    }

    /// @inheritdoc IAgentFeeLocker
    function release(address agent, address feeToken) external nonReentrant {
        uint256 amount = waiting[agent][feeToken];
        require(amount != 0, NothingWaiting());
        require(feeToken == agent || _isListed(feeToken), NotListed(feeToken));

        waiting[agent][feeToken] = 0;
        IERC20(feeToken).forceApprove(address(CONVERTER), amount);
        uint256 taken = CONVERTER.notifyFee(agent, feeToken, amount);
        uint256 rest = amount - taken;
        bool isStaked = feeToken == STAKING_TOKEN && address(POOL) != address(0);
        (uint256 staked, uint256 toSafe) = isStaked ? (rest, uint256(0)) : (uint256(0), rest);
        emit Released(agent, feeToken, taken, staked, toSafe);
        if (isStaked) {
            IERC20(feeToken).forceApprove(address(POOL), rest);
            POOL.enterFor(agent, rest);
        } else {
            IERC20(feeToken).safeTransfer(REGISTRY.safeOf(agent), rest);
        }
    }

    /* INTERNAL */

    /// @dev A call that ran out of gas leaves a 64th. It must not pass for a release that cannot be made, because then
    /// a wallet's estimate would be too low for the release.
    function _tryRelease(address agent, address feeToken) internal {
        uint256 gasBefore = gasleft();
        try this.release(agent, feeToken) {}
        catch {
            require(gasleft() > gasBefore / 32, TooLittleGas());
        }
    }

    /// @dev Books what arrives, because a token may deliver less than the pool says. The guard keeps a hostile token of
    /// one position from collecting another in between, whose fees would count twice.
    function _collect(uint256 positionId)
        internal
        nonReentrant
        returns (address agent, address token0, address token1)
    {
        agent = agentOf[positionId];
        require(agent != address(0), UnknownPosition(positionId));
        IPositionManager.Position memory position = POSITIONS.positions(positionId);
        (token0, token1) = (position.token0, position.token1);
        uint256 before0 = IERC20(token0).balanceOf(address(this));
        uint256 before1 = IERC20(token1).balanceOf(address(this));
        POSITIONS.collect(
            IPositionManager.CollectParams(positionId, address(this), type(uint128).max, type(uint128).max)
        );
        _book(agent, positionId, token0, before0);
        _book(agent, positionId, token1, before1);
    }

    function _book(address agent, uint256 positionId, address feeToken, uint256 balanceBefore) internal {
        uint256 amount = IERC20(feeToken).balanceOf(address(this)) - balanceBefore;
        waiting[agent][feeToken] += amount;
        if (amount != 0) emit Collected(agent, positionId, feeToken, amount);
    }

    function _isListed(address feeToken) internal view returns (bool) {
        return feeToken == address(STABLECOIN) || address(CONVERTER.marketOf(feeToken).pool) != address(0);
    }
}
