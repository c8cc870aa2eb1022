// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
    IOFT,
    MessagingFee,
    MessagingReceipt,
    OFTLimit,
    OFTReceipt,
    SendParam
} from "@layerzerolabs/oft-evm/contracts/interfaces/IOFT.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {IDollarBridge} from "./interfaces/IDollarBridge.sol";

/// @title OftDollarBridge
/// @notice The adapter for stablecoins that are bridged as a LayerZero OFT. See {IDollarBridge}.
/// @dev It serves stablecoins with 6 and with 18 decimals, because an OFT carries amounts in shared decimals. The OFT
/// may move the same stablecoin between the chains, or lock one here and pay another from its liquidity on the primary
/// chain.
contract OftDollarBridge is IDollarBridge {
    using SafeERC20 for IERC20Metadata;

    /* IMMUTABLES */

    /// @notice The OFT on this chain.
    IOFT public immutable OFT;
    /// @notice The stablecoin that the OFT carries.
    IERC20Metadata public immutable STABLECOIN;
    /// @notice Stablecoin units per token unit.
    uint256 public immutable SCALE;
    /// @notice LayerZero endpoint id of the primary chain.
    uint32 public immutable PRIMARY_EID;
    /// @notice The recipient of the dollars on the primary chain.
    address public immutable INBOX;

    /* STORAGE */

    /// @notice LayerZero options in addition to those that the OFT enforces.
    bytes public options;

    /* CONSTRUCTOR */

    constructor(IOFT oft, uint32 primaryEid, address inbox, bytes memory options_) {
        OFT = oft;
        STABLECOIN = IERC20Metadata(oft.token());
        SCALE = 10 ** (STABLECOIN.decimals() - 6);
        PRIMARY_EID = primaryEid;
        INBOX = inbox;
        options = options_;
        // An unlimited allowance is safe: this contract holds no dollars between calls.
        if (oft.approvalRequired()) STABLECOIN.forceApprove(address(oft), type(uint256).max);
    }

    /* QUOTE */

    /// @inheritdoc IDollarBridge
    function quote(uint256 wanted) external view returns (uint256 amount, uint256 nativeFee, uint256 cost) {
        uint256 most = _most(wanted);
        amount = Math.min(wanted, most);
        cost = _cost(amount, most);
        if (amount + cost > most) {
            amount = Math.saturatingSub(most, _missing(most, 0));
            cost = _cost(amount, most);
        }
        if (amount != 0) nativeFee = OFT.quoteSend(_params(amount, cost), false).nativeFee;
    }

    /* SEND */

    /// @inheritdoc IDollarBridge
    function send(uint256 amount, uint256 cost, address refund) external payable returns (bytes32 id) {
        uint256 handedOver = (amount + cost) * SCALE;
        (MessagingReceipt memory message, OFTReceipt memory dollars) =
            OFT.send{value: msg.value}(_params(amount, cost), MessagingFee(msg.value, 0), refund);
        bool isWhole = dollars.amountSentLD == handedOver && dollars.amountReceivedLD >= amount * SCALE;
        require(isWhole, WrongDelivery(dollars.amountSentLD, dollars.amountReceivedLD));
        return message.guid;
    }

    /* INTERNAL */

    /// @dev The most that the OFT accepts now, fee included. Older OFTs that have no limit report 2^64 - 1.
    function _most(uint256 wanted) internal view returns (uint256) {
        SendParam memory params = _params(wanted, 0);
        params.minAmountLD = 0;
        (OFTLimit memory limit,,) = OFT.quoteOFT(params);
        return limit.maxAmountLD == type(uint64).max ? type(uint256).max : limit.maxAmountLD / SCALE;
    }

    /// @dev The dollars to add so that `amount` arrives. The fee also applies to them: each iteration adds the
    /// shortfall, until there is none or the OFT accepts no more.
    function _cost(uint256 amount, uint256 most) internal view returns (uint256 cost) {
        uint256 missing = _missing(amount, 0);
        while (missing != 0 && cost < amount && amount + cost <= most) {
            cost += missing;
            missing = _missing(amount, cost);
        }
    }

    /// @dev The shortfall: how much less than `amount` arrives if `cost` is added.
    function _missing(uint256 amount, uint256 cost) internal view returns (uint256) {
        SendParam memory params = _params(amount, cost);
        params.minAmountLD = 0;
        (,, OFTReceipt memory dollars) = OFT.quoteOFT(params);
        return Math.saturatingSub(amount, dollars.amountReceivedLD / SCALE);
    }

    function _params(uint256 amount, uint256 cost) internal view returns (SendParam memory) {
        return SendParam({
            dstEid: PRIMARY_EID,
            to: bytes32(uint256(uint160(INBOX))),
            amountLD: (amount + cost) * SCALE,
            minAmountLD: amount * SCALE,
            extraOptions: options,
            composeMsg: "",
            oftCmd: ""
        });
    }
}
