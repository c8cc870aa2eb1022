// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice A pool that returns what a test sets, including hostile values. The real one is tested in agents/.
contract ScriptedPool {
    mapping(address identity => mapping(uint256 day => uint256)) public capacityOn;

    function setCapacity(address identity, uint256 day, uint256 nanoUsd) external {
        capacityOn[identity][day] = nanoUsd;
    }
}

/// @notice A registry that returns what a test sets. The real one is tested in agents/.
contract ScriptedRegistry {
    mapping(address agent => address) public safeOf;
    mapping(address agent => address) public treasuryOf;

    function setAgent(address agent, address safe, address treasury) external {
        (safeOf[agent], treasuryOf[agent]) = (safe, treasury);
    }

    function isAgent(address agent) external view returns (bool) {
        return safeOf[agent] != address(0);
    }
}
