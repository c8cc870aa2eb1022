// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {OFTFeeDetail, OFTLimit, OFTReceipt, SendParam} from "@layerzerolabs/oft-evm/contracts/interfaces/IOFT.sol";
import {OFTAdapter} from "@layerzerolabs/oft-evm/contracts/OFTAdapter.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @notice LayerZero's OFT adapter as a liquidity pool, with an optional fee and an optional limit. Like Stargate's, it
/// quotes an amount above the limit as if it were the limit, and does not send it.
contract OftPool is OFTAdapter {
    uint256 public feeBps;
    /// @notice Taken in addition to the fee and never quoted, in local decimals.
    uint256 public hiddenFee;
    /// @notice The most that it accepts in one transfer, in local decimals.
    uint256 public most = type(uint256).max;

    /// @notice The most that it sends in one transfer, in local decimals. Never quoted, like that of a rate limit.
    uint256 public unquotedMost = type(uint256).max;

    error AboveTheLimit();

    constructor(address dollar, address lz, address owner) OFTAdapter(dollar, lz, owner) Ownable(owner) {}

    function setFee(uint256 bps, uint256 hidden) external onlyOwner {
        (feeBps, hiddenFee) = (bps, hidden);
    }

    function setMost(uint256 most_) external onlyOwner {
        most = most_;
    }

    function setUnquotedMost(uint256 most_) external onlyOwner {
        unquotedMost = most_;
    }

    function quoteOFT(SendParam calldata params)
        external
        view
        override
        returns (OFTLimit memory limit, OFTFeeDetail[] memory fees, OFTReceipt memory receipt)
    {
        limit = OFTLimit(0, most);
        uint256 amount = params.amountLD < most ? params.amountLD : most;
        (receipt.amountSentLD, receipt.amountReceivedLD) = _debitView(amount, params.minAmountLD, params.dstEid);
        fees = new OFTFeeDetail[](0);
    }

    function _debit(address from, uint256 amountLD, uint256 minAmountLD, uint32 dstEid)
        internal
        override
        returns (uint256 sent, uint256 received)
    {
        require(amountLD <= unquotedMost, AboveTheLimit());
        return super._debit(from, amountLD, minAmountLD, dstEid);
    }

    function _debitView(uint256 amountLD, uint256 minAmountLD, uint32)
        internal
        view
        override
        returns (uint256 sent, uint256 received)
    {
        require(amountLD <= most, AboveTheLimit());
        sent = _removeDust(amountLD);
        received = _removeDust(sent - sent * feeBps / 10_000);
        require(received >= minAmountLD, SlippageExceeded(received, minAmountLD));
        sent -= hiddenFee;
    }
}
