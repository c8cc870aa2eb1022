// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {OFTAdapter} from "@layerzerolabs/oft-evm/contracts/OFTAdapter.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title DollarPool
/// @notice A stablecoin bridge (IOFT) for local chains, of the kind that outboxes send through. It locks the dollars
/// that are sent and pays out the stablecoin of the destination chain from its own liquidity. A payment that it cannot
/// make yet stays deliverable.
/// @dev LayerZero's documentation says that a mesh may have only one such adapter, because it escrows the supply of the
/// mesh. Here no token represents the escrowed dollars, so several are safe; the liquidity provider bears the
/// imbalance.
contract DollarPool is OFTAdapter {
    constructor(address dollar, address endpoint, address owner) OFTAdapter(dollar, endpoint, owner) Ownable(owner) {}
}
