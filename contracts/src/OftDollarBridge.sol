// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
    IOFT,
    MessagingFee,
    MessagingReceipt,
    OFTReceipt,
    SendParam
} from "@layerzerolabs/oft-evm/contracts/interfaces/IOFT.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {IDollarBridge} from "./interfaces/IDollarBridge.sol";

/// @title OftDollarBridge
/// @notice The adapter for every dollar that travels as a LayerZero OFT. See {IDollarBridge}.
/// @dev One adapter for both secondary chains, because an OFT carries amounts in shared decimals: chain 2's USDC goes
/// through USDC's own OFT, chain 1's dollar of 18 decimals through one that locks it there and pays USDC from its
/// liquidity here.
contract OftDollarBridge is IDollarBridge {
    using SafeERC20 for IERC20Metadata;

    /* IMMUTABLES */

    /// @notice The chain's entrance to the bridge.
    IOFT public immutable OFT;
    /// @notice The dollar that it carries.
    IERC20Metadata public immutable STABLECOIN;
    /// @notice Stablecoin units in one token unit.
    uint256 public immutable SCALE;
    /// @notice LayerZero's id of the primary chain.
    uint32 public immutable PRIMARY_EID;
    /// @notice Where the dollars arrive there.
    address public immutable INBOX;

    /* STORAGE */

    /// @notice LayerZero's options beside those that the OFT enforces.
    bytes public options;

    /* CONSTRUCTOR */

    constructor(IOFT oft, uint32 primaryEid, address inbox, bytes memory options_) {
        OFT = oft;
        STABLECOIN = IERC20Metadata(oft.token());
        SCALE = 10 ** (STABLECOIN.decimals() - 6);
        PRIMARY_EID = primaryEid;
        INBOX = inbox;
        options = options_;
        // For ever, because nothing is ever left here: what comes in goes out in the same call.
        if (oft.approvalRequired()) STABLECOIN.forceApprove(address(oft), type(uint256).max);
    }

    /* QUOTE */

    /// @inheritdoc IDollarBridge
    function quote(uint256 amount) external view returns (uint256 nativeFee, uint256 cost) {
        // A fee is taken of what pays the fee too. Each turn adds what was still missing, until nothing is.
        uint256 missing = _missing(amount, 0);
        while (missing != 0 && cost < amount) {
            cost += missing;
            missing = _missing(amount, cost);
        }
        nativeFee = OFT.quoteSend(_params(amount, cost), false).nativeFee;
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

    /// @dev How much less than `amount` would arrive for `cost`.
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
