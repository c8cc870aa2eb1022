// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {IERC3009} from "@openzeppelin/contracts/interfaces/draft-IERC3009.sol";

/// @title IStablecoin
/// @notice The functions of a stablecoin that the minter may call: ERC-20 and, if the stablecoin has them, EIP-2612 and
/// ERC-3009.
/// @dev Source: https://eips.ethereum.org/EIPS/eip-2612, https://eips.ethereum.org/EIPS/eip-3009. If a stablecoin lacks
/// one of the two, only the functions that use it are unavailable.
interface IStablecoin is IERC20Metadata, IERC20Permit, IERC3009 {
    /// @notice The version in the stablecoin's EIP-712 domain, which signers need.
    function version() external view returns (string memory);
}

/// @title IStablecoinForContracts
/// @notice ERC-3009 for signers that are contracts (ERC-1271), as Circle's FiatTokenV2_2 has it.
interface IStablecoinForContracts {
    /// @notice Same as ERC-3009's function, with a signature of any length.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;

    /// @notice Same as ERC-3009's function, with a signature of any length.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
}
