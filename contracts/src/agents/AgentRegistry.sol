// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Create2} from "@openzeppelin/contracts/utils/Create2.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {AgentToken} from "./AgentToken.sol";
import {AgentTreasury} from "./AgentTreasury.sol";
import {IAgentDirectory} from "./interfaces/IAgentDirectory.sol";
import {IAgentFeeConverter} from "./interfaces/IAgentFeeConverter.sol";
import {IInferenceStaking} from "./interfaces/IInferenceStaking.sol";
import {ISafeProxyFactory, ISafeSetup} from "./interfaces/ISafe.sol";

/// @title AgentRegistry
/// @notice Creates agents and keeps their payees and signing keys. See {IAgentRegistry} and {IAgentDirectory}.
contract AgentRegistry is IAgentDirectory, EIP712 {
    /* CONSTANTS */

    bytes32 internal constant COMPUTER_TYPEHASH =
        keccak256("Computer(address agentToken,address owner,address computer,uint256 nonce)");

    /* IMMUTABLES */

    /// @inheritdoc IAgentDirectory
    IInferenceStaking public immutable POOL;
    /// @inheritdoc IAgentDirectory
    IAgentFeeConverter public immutable CONVERTER;
    /// @inheritdoc IAgentDirectory
    ISafeProxyFactory public immutable SAFE_FACTORY;
    /// @inheritdoc IAgentDirectory
    address public immutable SAFE_SINGLETON;
    /// @inheritdoc IAgentDirectory
    address public immutable SAFE_FALLBACK_HANDLER;

    /// @dev Hash of the creation code of every Safe that the factory deploys.
    bytes32 internal immutable SAFE_CODE_HASH;

    /* STORAGE */

    /// @inheritdoc IAgentRegistry
    mapping(address agentToken => address) public safeOf;
    /// @inheritdoc IAgentRegistry
    mapping(address agentToken => address) public treasuryOf;
    /// @inheritdoc IAgentDirectory
    mapping(address agentToken => uint256) public computerNonce;

    uint256 internal _agentCount;
    /// @dev The last computer that was set, which may have ended since: see {computerOf}.
    mapping(address agentToken => Computer) internal _computers;
    /// @dev The last agent for which a computer was set.
    mapping(address computer => address) internal _agents;

    struct Computer {
        address key;
        /// @dev The owner of the agent who set it.
        address owner;
    }

    /* CONSTRUCTOR */

    /// @param converter lists the market on which treasuries buy; must be deployed before the first agent is created
    constructor(
        IInferenceStaking pool,
        IAgentFeeConverter converter,
        ISafeProxyFactory safeFactory,
        address safeSingleton,
        address safeFallbackHandler
    ) EIP712("AgentRegistry", "1") {
        POOL = pool;
        CONVERTER = converter;
        SAFE_FACTORY = safeFactory;
        SAFE_SINGLETON = safeSingleton;
        SAFE_FALLBACK_HANDLER = safeFallbackHandler;
        SAFE_CODE_HASH = keccak256(abi.encodePacked(safeFactory.proxyCreationCode(), abi.encode(safeSingleton)));
    }

    /* MODIFIERS */

    modifier onlyAgent(address agentToken) {
        require(isAgent(agentToken), UnknownAgent(agentToken));
        _;
    }

    /* CREATION */

    /// @inheritdoc IAgentDirectory
    function create(string calldata name, string calldata symbol, uint256 supply, address owner)
        external
        returns (address agentToken)
    {
        // The registry has the same address on every chain, so the salt includes the chain id.
        bytes32 salt = keccak256(abi.encode(block.chainid, ++_agentCount));
        agentToken = address(new AgentToken{salt: salt}(name, symbol, supply, owner, POOL));
        address safe = _createSafe(owner, uint256(uint160(agentToken)));
        safeOf[agentToken] = safe;
        address treasury;
        if (address(POOL) != address(0)) {
            treasury = address(new AgentTreasury(agentToken, POOL, CONVERTER));
            treasuryOf[agentToken] = treasury;
        }
        emit AgentCreated(agentToken, owner, safe, treasury);
    }

    /* COMPUTER AND SAFE */

    /// @inheritdoc IAgentDirectory
    function setComputer(address agentToken, address computer, bytes calldata proof) external onlyAgent(agentToken) {
        require(msg.sender == AgentToken(agentToken).owner(), OnlyAgentOwner());
        if (computer != address(0)) {
            address holder = agentOf(computer);
            require(holder == address(0) || holder == agentToken, ComputerTaken(computer, holder));
            bytes32 digest = computerDigest(agentToken, msg.sender, computer);
            require(SignatureChecker.isValidSignatureNow(computer, digest, proof), InvalidProof());
        }
        ++computerNonce[agentToken];
        _computers[agentToken] = Computer(computer, msg.sender);
        _agents[computer] = agentToken;
        emit ComputerChanged(agentToken, computer);
    }

    /// @inheritdoc IAgentDirectory
    function replaceSafe(address agentToken, address newSafe) external {
        require(msg.sender == safeOf[agentToken], OnlySafe());
        require(newSafe != address(0), ZeroAddress());
        safeOf[agentToken] = newSafe;
        emit SafeChanged(agentToken, newSafe);
    }

    /* VIEWS */

    /// @inheritdoc IAgentRegistry
    function isAgent(address agentToken) public view returns (bool) {
        return safeOf[agentToken] != address(0);
    }

    /// @inheritdoc IAgentDirectory
    function computerOf(address agentToken) public view returns (address) {
        Computer storage computer = _computers[agentToken];
        address key = computer.key;
        if (key == address(0) || _agents[key] != agentToken) return address(0);
        return computer.owner == AgentToken(agentToken).owner() ? key : address(0);
    }

    /// @inheritdoc IAgentDirectory
    function agentOf(address computer) public view returns (address agentToken) {
        agentToken = _agents[computer];
        if (computer == address(0) || computerOf(agentToken) != computer) return address(0);
    }

    /// @inheritdoc IAgentDirectory
    function computerDigest(address agentToken, address owner, address computer) public view returns (bytes32) {
        uint256 nonce = computerNonce[agentToken];
        return _hashTypedDataV4(keccak256(abi.encode(COMPUTER_TYPEHASH, agentToken, owner, computer, nonce)));
    }

    /* INTERNAL */

    /// @dev Anyone can make the factory deploy the same Safe first. Its address commits to its setup, so the owner is
    /// its only signer and it is safe to use. Reverting instead would let anyone block the creation of agents.
    function _createSafe(address owner, uint256 saltNonce) internal returns (address safe) {
        address[] memory signers = new address[](1);
        signers[0] = owner;
        bytes memory setup = abi.encodeCall(
            ISafeSetup.setup, (signers, 1, address(0), "", SAFE_FALLBACK_HANDLER, address(0), 0, payable(address(0)))
        );
        bytes32 salt = keccak256(abi.encodePacked(keccak256(setup), saltNonce));
        safe = Create2.computeAddress(salt, SAFE_CODE_HASH, address(SAFE_FACTORY));
        if (safe.code.length == 0) SAFE_FACTORY.createProxyWithNonce(SAFE_SINGLETON, setup, saltNonce);
    }
}
