// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IAgentRegistry} from "../../interfaces/IAgentRegistry.sol";
import {IAgentFeeConverter} from "./IAgentFeeConverter.sol";
import {IInferenceStaking} from "./IInferenceStaking.sol";
import {ISafeProxyFactory} from "./ISafe.sol";

/// @title IAgentDirectory
/// @notice Creates agents and names their Safe and signing key: the functions beyond those of {IAgentRegistry}.
/// @dev Trust: no account has a privileged role. Only {create} makes an agent, which proves that the agent was created
/// on this chain. The address of an agent token depends on its chain, so no two chains have an agent at the same
/// address.
interface IAgentDirectory is IAgentRegistry {
    /// @notice An agent was created. `treasury` is `address(0)` off the primary chain.
    event AgentCreated(address indexed agentToken, address indexed owner, address safe, address treasury);

    /// @notice The agent's earnings are paid to `safe` from now on.
    event SafeChanged(address indexed agentToken, address indexed safe);

    /// @notice `computer` signs the agent's offers from now on; `address(0)` means that there is none. A sale of the
    /// agent also ends it, without this event.
    event ComputerChanged(address indexed agentToken, address indexed computer);

    /// @notice This registry did not create `agentToken`.
    error UnknownAgent(address agentToken);

    /// @notice The caller is not the owner of the agent token.
    error OnlyAgentOwner();

    /// @notice The caller is not the agent's Safe.
    error OnlySafe();

    /// @notice The zero address cannot be a payee.
    error ZeroAddress();

    /// @notice The computer is already registered for another agent.
    error ComputerTaken(address computer, address agentToken);

    /// @notice The proof is not a valid signature of the computer.
    error InvalidProof();

    /// @notice The agents' pool; `address(0)` off the primary chain.
    function POOL() external view returns (IInferenceStaking);

    /// @notice The converter, which lists the markets on which treasuries buy.
    function CONVERTER() external view returns (IAgentFeeConverter);

    /// @notice The factory that deploys the agents' Safes.
    function SAFE_FACTORY() external view returns (ISafeProxyFactory);

    /// @notice The implementation of the Safes, version 1.5.0.
    function SAFE_SINGLETON() external view returns (address);

    /// @notice The fallback handler of the Safes, which implements ERC-1271 among others.
    function SAFE_FALLBACK_HANDLER() external view returns (address);

    /// @notice The agent's computer, which is the key that signs its offers; `address(0)` if it has none. It ends when
    /// the agent is sold: a computer counts only while the owner who set it owns the agent.
    function computerOf(address agentToken) external view returns (address);

    /// @notice The agent for which `computer` is registered; `address(0)` if there is none.
    function agentOf(address computer) external view returns (address agentToken);

    /// @notice The number of times that the agent's computer was set, which is the nonce of the next proof.
    function computerNonce(address agentToken) external view returns (uint256);

    /// @notice Creates an agent: a token whose ownership and full supply go to `owner`, a Safe with `owner` as its only
    /// signer, and on the primary chain a treasury. Anyone may call it.
    /// @dev Reverts if the token or the Safe does not accept `owner`, for example `address(0)`.
    function create(string calldata name, string calldata symbol, uint256 supply, address owner)
        external
        returns (address agentToken);

    /// @notice Sets the agent's computer, which no other agent may have. `address(0)` removes it and needs no valid
    /// proof.
    /// @param proof the computer's signature (ECDSA or ERC-1271) of {computerDigest}, with the caller as owner
    /// @dev Reverts with {UnknownAgent}, {OnlyAgentOwner}, {ComputerTaken} or {InvalidProof}.
    function setComputer(address agentToken, address computer, bytes calldata proof) external;

    /// @notice Lets the agent's Safe name its successor, so that a Safe blocked by the stablecoin's issuer can be
    /// replaced, and so that a seller can hand over the agent's earnings. A sale of the agent does not change its Safe:
    /// before paying, a buyer reads {safeOf} and the signers of that Safe.
    /// @dev Reverts with {OnlySafe} or {ZeroAddress}.
    function replaceSafe(address agentToken, address newSafe) external;

    /// @notice The digest that `computer` signs to serve `agentToken` under `owner`, valid once. EIP-712 with the
    /// domain (AgentRegistry, 1, this chain, this contract) and the type
    /// `Computer(address agentToken,address owner,address computer,uint256 nonce)`.
    function computerDigest(address agentToken, address owner, address computer) external view returns (bytes32);
}
