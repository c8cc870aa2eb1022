// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";
import {IUniswapV3Factory} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Factory.sol";

import {AgentFeeConverter} from "../../../src/agents/AgentFeeConverter.sol";
import {BackerVault} from "../../../src/agents/BackerVault.sol";
import {InferencePool} from "../../../src/agents/InferencePool.sol";
import {IBackerVault} from "../../../src/agents/interfaces/IBackerVault.sol";
import {IInferenceStaking} from "../../../src/agents/interfaces/IInferenceStaking.sol";
import {IAgentRegistry} from "../../../src/interfaces/IAgentRegistry.sol";
import {IInferenceToken} from "../../../src/interfaces/IInferenceToken.sol";
import {IStablecoin} from "../../../src/interfaces/IStablecoin.sol";
import {ITokenMinter} from "../../../src/interfaces/ITokenMinter.sol";

/// @notice A pool in which each function adds one defect.
contract MutantPool is InferencePool {
    using Checkpoints for Checkpoints.Trace208;

    constructor(IERC20Metadata stakingToken) InferencePool(stakingToken) {}

    function stakeForNothing(address identity, uint256 amount) external {
        stakeOf[identity][identity] += amount;
        _setStake(identity, totalStakeOf(identity) + amount);
    }

    function reserveForToday(address identity) external {
        _unreserved[identity].push(uint48(block.timestamp / 1 days), type(uint208).max);
    }

    function forgetOwner(address owner, address identity) external {
        stakeOf[owner][identity] -= 1;
    }

    function exitForNothing(address to, uint256 amount) external {
        exits[++_exitCount] = Exit(to, 0, amount);
    }
}

/// @notice A vault in which each function adds one defect.
contract MutantVault is BackerVault {
    constructor(IInferenceToken token, IERC20 stakingToken, IInferenceStaking pool, IAgentRegistry registry, address to)
        BackerVault(token, stakingToken, pool, registry, to)
    {}

    function forgetReward(address agent) external {
        _agents[agent].drip.collected = 0;
    }

    function dripMore(address agent, uint96 amount) external {
        _agents[agent].drip.collected += amount;
    }

    function payUncounted(address to, uint256 amount) external {
        _pay(to, amount);
    }

    function backForNothing(address agent, uint256 amount) external {
        _agents[agent].totalBacking += amount;
    }

    function countTwice(address agent, address backer) external {
        _backers[agent][backer].perUnitCounted = 0;
    }
}

/// @notice A converter in which each function adds one defect.
contract MutantConverter is AgentFeeConverter {
    constructor(
        IAgentRegistry registry,
        IBackerVault vault,
        ITokenMinter minter,
        IStablecoin stablecoin,
        IUniswapV3Factory uniswapFactory,
        address timelock,
        Listing[] memory first
    ) AgentFeeConverter(registry, vault, minter, stablecoin, uniswapFactory, timelock, first) {}

    function forgetDust(address agent) external {
        pending[agent][address(STABLECOIN)] = 0;
    }

    function sendPending(address feeToken, address to, uint256 amount) external {
        require(IERC20(feeToken).transfer(to, amount));
    }

    function rewardForNothing(address agent, uint256 amount) external {
        VAULT.reward(agent, amount);
    }
}
