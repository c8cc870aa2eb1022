// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {IERC3009} from "@openzeppelin/contracts/interfaces/draft-IERC3009.sol";

/// @title IStablecoin
/// @notice What the door may use of a chain's dollar: ERC-20, and where the dollar has them EIP-2612 and ERC-3009.
/// @dev Source: https://eips.ethereum.org/EIPS/eip-2612, https://eips.ethereum.org/EIPS/eip-3009. A dollar without one of
/// the two lacks the doors that need it, nothing else.
interface IStablecoin is IERC20Metadata, IERC20Permit, IERC3009 {
    /// @notice The version in the dollar's EIP-712 domain, which a signer needs.
    function version() external view returns (string memory);
}
