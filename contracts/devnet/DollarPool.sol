// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {OFTAdapter} from "@layerzerolabs/oft-evm/contracts/OFTAdapter.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title DollarPool
/// @notice A dollar bridge of the kind that outboxes send through, an IOFT: it keeps the dollars that are sent and pays
/// others, of the dollar that its peer's chain has, out of its own. A payment it cannot make yet stays deliverable.
/// @dev LayerZero's adapter warns that one mesh may have one of these: there it escrows the supply of the mesh. Here no
/// token stands for what is escrowed; whoever lends the liquidity carries the imbalance.
contract DollarPool is OFTAdapter {
    constructor(address dollar, address endpoint, address owner) OFTAdapter(dollar, endpoint, owner) Ownable(owner) {}
}
