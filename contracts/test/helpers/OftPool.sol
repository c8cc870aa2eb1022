// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {OFTAdapter} from "@layerzerolabs/oft-evm/contracts/OFTAdapter.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @notice LayerZero's OFT adapter as a liquidity pool, with an optional fee.
contract OftPool is OFTAdapter {
    uint256 public feeBps;
    /// @notice Taken in addition to the fee and never quoted, in local decimals.
    uint256 public hiddenFee;

    constructor(address dollar, address lz, address owner) OFTAdapter(dollar, lz, owner) Ownable(owner) {}

    function setFee(uint256 bps, uint256 hidden) external onlyOwner {
        (feeBps, hiddenFee) = (bps, hidden);
    }

    function _debitView(uint256 amountLD, uint256 minAmountLD, uint32)
        internal
        view
        override
        returns (uint256 sent, uint256 received)
    {
        sent = _removeDust(amountLD);
        received = _removeDust(sent - sent * feeBps / 10_000);
        require(received >= minAmountLD, SlippageExceeded(received, minAmountLD));
        sent -= hiddenFee;
    }
}
