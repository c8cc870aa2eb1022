// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

import {IInferencePool} from "../interfaces/IInferencePool.sol";
import {IAgentToken} from "./interfaces/IAgentToken.sol";

/// @title AgentToken
/// @notice An agent's token and identity. See {IAgentToken}.
contract AgentToken is ERC20, Ownable, IAgentToken {
    /// @inheritdoc IAgentToken
    IInferencePool public immutable POOL;

    constructor(string memory name, string memory symbol, uint256 supply, address firstOwner, IInferencePool pool)
        ERC20(name, symbol)
        Ownable(firstOwner)
    {
        POOL = pool;
        _mint(firstOwner, supply);
    }

    /// @inheritdoc IAgentToken
    function setReserve(uint256 amount) external onlyOwner {
        require(address(POOL) != address(0), NoPool());
        POOL.reserve(amount);
    }

    /// @inheritdoc IAgentToken
    function owner() public view override(Ownable, IAgentToken) returns (address) {
        return super.owner();
    }
}
