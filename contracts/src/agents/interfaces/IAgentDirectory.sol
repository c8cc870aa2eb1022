// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IAgentRegistry} from "../../interfaces/IAgentRegistry.sol";
import {IAgentFeeConverter} from "./IAgentFeeConverter.sol";
import {IInferenceStaking} from "./IInferenceStaking.sol";
import {ISafeProxyFactory} from "./ISafe.sol";

/// @title IAgentDirectory
/// @notice How agents are born and named at the registry: everything beside what {IAgentRegistry} says.
/// @dev Trust: nobody has a role here. Only {create} makes an agent, so its birth on this chain is proven; an agent token's
/// address depends on its chain too, so no two chains have an agent at the same one.
interface IAgentDirectory is IAgentRegistry {
    /// @notice An agent was born. `treasury` is `address(0)` off the primary chain.
    event AgentCreated(address indexed agentToken, address indexed owner, address safe, address treasury);

    /// @notice What the agent earns goes to `safe` from now on.
    event SafeChanged(address indexed agentToken, address indexed safe);

    /// @notice `computer` signs the agent's offers from now on; `address(0)` is nobody.
    event ComputerChanged(address indexed agentToken, address indexed computer);

    /// @notice `agentToken` was not created here.
    error UnknownAgent(address agentToken);

    /// @notice The caller does not own the agent token.
    error OnlyAgentOwner();

    /// @notice The caller is not the agent's Safe.
    error OnlySafe();

    /// @notice The zero address cannot be paid.
    error ZeroAddress();

    /// @notice The computer belongs to another agent already.
    error ComputerTaken(address computer, address agentToken);

    /// @notice The computer did not sign this.
    error InvalidProof();

    /// @notice The agents' pool; `address(0)` off the primary chain.
    function POOL() external view returns (IInferenceStaking);

    /// @notice Whose markets the treasuries buy on.
    function CONVERTER() external view returns (IAgentFeeConverter);

    /// @notice What creates the Safes.
    function SAFE_FACTORY() external view returns (ISafeProxyFactory);

    /// @notice What the Safes run, version 1.5.0.
    function SAFE_SINGLETON() external view returns (address);

    /// @notice What answers for a Safe where it has no function of its own, such as ERC-1271.
    function SAFE_FALLBACK_HANDLER() external view returns (address);

    /// @notice The key that signs the agent's offers, or `address(0)` while it has none.
    function computerOf(address agentToken) external view returns (address);

    /// @notice The agent whose computer `computer` is, or `address(0)`.
    function agentOf(address computer) external view returns (address agentToken);

    /// @notice How often the agent's computer was set: the nonce of the next proof.
    function computerNonce(address agentToken) external view returns (uint256);

    /// @notice Creates an agent: its token, of which `owner` gets ownership and the whole supply; a Safe with `owner` as
    /// its one signer; and on the primary chain its treasury. Anyone may call it.
    /// @dev Reverts as token or Safe do for an owner that they do not take, such as `address(0)`.
    function create(string calldata name, string calldata symbol, uint256 supply, address owner)
        external
        returns (address agentToken);

    /// @notice Names the agent's own computer, one that no other agent has; `address(0)`, with any proof, is none.
    /// @param proof the computer's signature (ECDSA or ERC-1271) of {computerDigest} with the caller as owner
    /// @dev Reverts with {UnknownAgent}, {OnlyAgentOwner}, {ComputerTaken}, {InvalidProof}.
    function setComputer(address agentToken, address computer, bytes calldata proof) external;

    /// @notice Lets the agent's Safe name its successor: a Safe that the dollar's issuer blocks need not stay the payee.
    /// @dev Reverts with {OnlySafe}, {ZeroAddress}.
    function replaceSafe(address agentToken, address newSafe) external;

    /// @notice What `computer` signs to serve `agentToken` under `owner`, good once: EIP-712 with the domain
    /// (AgentRegistry, 1, this chain, this contract) and the type
    /// `Computer(address agentToken,address owner,address computer,uint256 nonce)`.
    function computerDigest(address agentToken, address owner, address computer) external view returns (bytes32);
}
