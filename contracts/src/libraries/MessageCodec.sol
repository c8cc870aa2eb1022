// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITokenBridge} from "../interfaces/ITokenBridge.sol";

/// @title MessageCodec
/// @notice Encodes a bridge message in 53 bytes: kind (1), from (20), to (20), amount (12). The encoding is packed
/// because every byte is paid for on two chains.
library MessageCodec {
    function encode(ITokenBridge.Message memory message) internal pure returns (bytes memory) {
        return abi.encodePacked(message.kind, message.from, message.to, message.amount);
    }

    /// @dev Reverts if the payload is shorter than 53 bytes or its kind is unknown.
    function decode(bytes calldata payload) internal pure returns (ITokenBridge.Message memory message) {
        message.kind = ITokenBridge.Kind(uint8(payload[0]));
        message.from = address(bytes20(payload[1:21]));
        message.to = address(bytes20(payload[21:41]));
        message.amount = uint96(bytes12(payload[41:53]));
    }
}
