// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SetConfigParam} from "@layerzerolabs/lz-evm-protocol-v2/contracts/interfaces/IMessageLibManager.sol";

import {ITokenBridge} from "../interfaces/ITokenBridge.sol";

/// @title PathwayConfig
/// @notice Encodes a pathway as configuration of LayerZero's message libraries (ULN 302).
/// @dev Source: https://docs.layerzero.network/v2/developers/evm/configuration/dvn-executor-config
library PathwayConfig {
    /// @dev LayerZero's ids of the two configuration types.
    uint32 private constant EXECUTOR_CONFIG = 1;
    uint32 private constant ULN_CONFIG = 2;
    /// @dev Means "none"; zero would mean LayerZero's default.
    uint8 private constant NO_OPTIONAL_VERIFIERS = type(uint8).max;

    struct ExecutorConfig {
        uint32 maxMessageSize;
        address executor;
    }

    struct UlnConfig {
        uint64 confirmations;
        uint8 requiredDVNCount;
        uint8 optionalDVNCount;
        uint8 optionalDVNThreshold;
        address[] requiredDVNs;
        address[] optionalDVNs;
    }

    /// @notice The configuration of both libraries: executor, verifiers and confirmations.
    function configs(ITokenBridge.Pathway memory pathway)
        internal
        pure
        returns (SetConfigParam[] memory sending, SetConfigParam[] memory receiving)
    {
        sending = new SetConfigParam[](2);
        sending[0] = SetConfigParam(
            pathway.eid, EXECUTOR_CONFIG, abi.encode(ExecutorConfig(pathway.maxMessageSize, pathway.executor))
        );
        sending[1] = _uln(pathway, pathway.sendConfirmations);
        receiving = new SetConfigParam[](1);
        receiving[0] = _uln(pathway, pathway.receiveConfirmations);
    }

    /// @notice Type 3 options with one executor option: `receiveGas` for the delivery of the message.
    function options(uint128 receiveGas) internal pure returns (bytes memory) {
        uint8 executor = 1;
        uint8 lzReceive = 1;
        return abi.encodePacked(uint16(3), executor, uint16(1 + 16), lzReceive, receiveGas);
    }

    function _uln(ITokenBridge.Pathway memory pathway, uint64 confirmations)
        private
        pure
        returns (SetConfigParam memory)
    {
        UlnConfig memory config = UlnConfig({
            confirmations: confirmations,
            requiredDVNCount: uint8(pathway.verifiers.length),
            optionalDVNCount: NO_OPTIONAL_VERIFIERS,
            optionalDVNThreshold: 0,
            requiredDVNs: pathway.verifiers,
            optionalDVNs: new address[](0)
        });
        return SetConfigParam(pathway.eid, ULN_CONFIG, abi.encode(config));
    }
}
