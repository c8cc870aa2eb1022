// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

import {AgentRegistry} from "../../src/agents/AgentRegistry.sol";
import {AgentToken} from "../../src/agents/AgentToken.sol";
import {IAgentDirectory} from "../../src/agents/interfaces/IAgentDirectory.sol";
import {IAgentToken} from "../../src/agents/interfaces/IAgentToken.sol";
import {IInferenceStaking} from "../../src/agents/interfaces/IInferenceStaking.sol";
import {ISafeProxyFactory, ISafeSetup} from "../../src/agents/interfaces/ISafe.sol";
import {AgentsTest} from "./helpers/AgentsTest.sol";
import {ISafe} from "./helpers/ISafe.sol";

contract AgentRegistryTest is AgentsTest {
    address internal computer;
    uint256 internal computerKey;

    function setUp() public override {
        super.setUp();
        (computer, computerKey) = makeAddrAndKey("computer");
    }

    function testConstructor_wires() public view {
        assertEq(address(registry.POOL()), address(pool));
        assertEq(address(registry.CONVERTER()), address(converter));
        assertEq(address(registry.SAFE_FACTORY()), safeFactory);
        assertEq(registry.SAFE_SINGLETON(), safeSingleton);
        assertEq(registry.SAFE_FALLBACK_HANDLER(), safeFallbackHandler);
    }

    /* CREATION */

    function testCreate_tokenSafeAndTreasury() public {
        AgentToken created = AgentToken(registry.create("Beta", "BETA", 5e18, bob));
        address safe = registry.safeOf(address(created));
        address createdTreasury = registry.treasuryOf(address(created));
        assertTrue(registry.isAgent(address(created)));
        assertEq(created.name(), "Beta");
        assertEq(created.symbol(), "BETA");
        assertEq(created.decimals(), 18);
        assertEq(created.owner(), bob);
        assertEq(created.totalSupply(), 5e18);
        assertEq(created.balanceOf(bob), 5e18);
        assertEq(address(created.POOL()), address(pool));
        assertEq(ISafe(safe).getOwners().length, 1);
        assertEq(ISafe(safe).getOwners()[0], bob);
        assertEq(ISafe(safe).getThreshold(), 1);
        assertGt(createdTreasury.code.length, 0);
        assertEq(registry.computerOf(address(created)), address(0));
    }

    function testCreate_announces() public {
        vm.expectEmit(false, true, false, false, address(registry));
        emit IAgentDirectory.AgentCreated(address(0), bob, address(0), address(0));
        registry.create("Beta", "BETA", 5e18, bob);
    }

    function testCreate_eachHasItsOwnAddresses() public {
        AgentToken first = createAgent(bob);
        AgentToken second = createAgent(bob);
        assertNotEq(address(first), address(second));
        assertNotEq(registry.safeOf(address(first)), registry.safeOf(address(second)));
        assertNotEq(registry.treasuryOf(address(first)), registry.treasuryOf(address(second)));
    }

    function testCreate_invalidOwner() public {
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableInvalidOwner.selector, address(0)));
        registry.create("Beta", "BETA", 1, address(0));
        vm.expectRevert("GS203");
        registry.create("Beta", "BETA", 1, address(1));
    }

    function testIsAgent_onlyCreatedHere() public {
        AgentToken forged = new AgentToken("Forged", "FORGED", 1, bob, pool);
        assertFalse(registry.isAgent(address(forged)));
        assertFalse(registry.isAgent(address(0)));
        assertEq(registry.safeOf(address(forged)), address(0));
        assertEq(registry.treasuryOf(address(forged)), address(0));
    }

    /// @dev The same registry address, count and arguments on two chains give a different token and a different Safe.
    function testCreate_anotherAddressOnAnotherChain() public {
        uint256 here = vm.snapshotState();
        address created = address(createAgent(bob));
        vm.revertToState(here);
        vm.chainId(42_161);
        address elsewhere = address(createAgent(bob));
        assertNotEq(created, elsewhere);
        assertFalse(registry.isAgent(created));
    }

    /// @dev Off the primary chain an agent has a token and a Safe, but no pool and no treasury.
    function testCreate_offThePrimaryChain() public {
        AgentRegistry secondary = new AgentRegistry(
            IInferenceStaking(address(0)), converter, ISafeProxyFactory(safeFactory), safeSingleton, safeFallbackHandler
        );
        address created = secondary.create("Beta", "BETA", 1, bob);
        assertTrue(secondary.isAgent(created));
        assertEq(secondary.treasuryOf(created), address(0));
        vm.expectRevert(IAgentToken.NoPool.selector);
        vm.prank(bob);
        AgentToken(created).setReserve(1);
    }

    /// @dev Someone else deploys the future agent's Safe first: it is the same Safe, and the creation succeeds.
    function testCreate_safeDeployedByAStrangerFirst() public {
        uint256 before = vm.snapshotState();
        address coming = address(createAgent(bob));
        address safe = registry.safeOf(coming);
        vm.revertToState(before);

        address[] memory owners = new address[](1);
        owners[0] = bob;
        bytes memory setup = abi.encodeCall(
            ISafeSetup.setup, (owners, 1, address(0), "", safeFallbackHandler, address(0), 0, payable(address(0)))
        );
        vm.prank(makeAddr("stranger"));
        address early =
            ISafeProxyFactory(safeFactory).createProxyWithNonce(safeSingleton, setup, uint256(uint160(coming)));
        assertEq(early, safe);
        assertEq(address(createAgent(bob)), coming);
        assertEq(registry.safeOf(coming), safe);
        assertEq(ISafe(safe).getOwners()[0], bob);
    }

    /* COMPUTER */

    function testSetComputer_withItsOwnProof() public {
        bytes memory proof = prove(computerKey, agent, agentOwner);
        vm.expectEmit(address(registry));
        emit IAgentDirectory.ComputerChanged(address(agent), computer);
        vm.prank(agentOwner);
        registry.setComputer(address(agent), computer, proof);
        assertEq(registry.computerOf(address(agent)), computer);
        assertEq(registry.agentOf(computer), address(agent));
        assertEq(registry.computerNonce(address(agent)), 1);
    }

    /// @dev The digest is EIP-712's, as a wallet computes it.
    function testComputerDigest_isEip712() public view {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("AgentRegistry"),
                keccak256("1"),
                block.chainid,
                registry
            )
        );
        bytes32 message = keccak256(
            abi.encode(
                keccak256("Computer(address agentToken,address owner,address computer,uint256 nonce)"),
                agent,
                agentOwner,
                computer,
                0
            )
        );
        assertEq(
            registry.computerDigest(address(agent), agentOwner, computer),
            keccak256(abi.encodePacked("\x19\x01", domain, message))
        );
    }

    function testFuzzSetComputer_agentOwnerOnly(address caller) public {
        bytes memory proof = prove(computerKey, agent, caller);
        expectOnly(caller, agentOwner, IAgentDirectory.OnlyAgentOwner.selector);
        registry.setComputer(address(agent), computer, proof);
    }

    function testSetComputer_unknownAgent() public {
        vm.expectRevert(abi.encodeWithSelector(IAgentDirectory.UnknownAgent.selector, bob));
        registry.setComputer(bob, computer, "");
    }

    function testSetComputer_proofOfAnother() public {
        (, uint256 otherKey) = makeAddrAndKey("other");
        bytes memory proof = prove(otherKey, agent, agentOwner);
        vm.startPrank(agentOwner);
        vm.expectRevert(IAgentDirectory.InvalidProof.selector);
        registry.setComputer(address(agent), computer, proof);
        vm.expectRevert(IAgentDirectory.InvalidProof.selector);
        registry.setComputer(address(agent), computer, "");
    }

    /// @dev A proof is valid for one agent, one owner, one chain and one use.
    function testSetComputer_proofIsGoodOnce() public {
        bytes memory proof = prove(computerKey, agent, agentOwner);
        AgentToken second = createAgent(agentOwner);
        vm.startPrank(agentOwner);
        vm.expectRevert(IAgentDirectory.InvalidProof.selector);
        registry.setComputer(address(second), computer, proof);

        uint256 chain = block.chainid;
        vm.chainId(10);
        vm.expectRevert(IAgentDirectory.InvalidProof.selector);
        registry.setComputer(address(agent), computer, proof);
        vm.chainId(chain);

        registry.setComputer(address(agent), computer, proof);
        registry.setComputer(address(agent), address(0), "");
        assertEq(registry.computerOf(address(agent)), address(0));
        assertEq(registry.agentOf(computer), address(0));
        vm.expectRevert(IAgentDirectory.InvalidProof.selector);
        registry.setComputer(address(agent), computer, proof);
    }

    function testSetComputer_proofForTheOwnerBefore() public {
        bytes memory proof = prove(computerKey, agent, agentOwner);
        vm.prank(agentOwner);
        agent.transferOwnership(bob);
        vm.expectRevert(IAgentDirectory.InvalidProof.selector);
        vm.prank(bob);
        registry.setComputer(address(agent), computer, proof);
    }

    /// @dev A removal raises the nonce too: a proof that was not used before it is void.
    function testSetComputer_proofFromBeforeTheRemoval() public {
        bytes memory first = prove(computerKey, agent, agentOwner);
        vm.startPrank(agentOwner);
        registry.setComputer(address(agent), computer, first);
        (address next, uint256 nextKey) = makeAddrAndKey("next");
        bytes memory unused = prove(nextKey, agent, agentOwner);
        registry.setComputer(address(agent), address(0), "");
        assertEq(registry.computerNonce(address(agent)), 2);
        vm.expectRevert(IAgentDirectory.InvalidProof.selector);
        registry.setComputer(address(agent), next, unused);
    }

    /// @dev The computer ends with the ownership, and is free for another agent. Its old agent does not get it back
    /// while another has it.
    function testSetComputer_endsWithTheSale() public {
        vm.startPrank(agentOwner);
        registry.setComputer(address(agent), computer, prove(computerKey, agent, agentOwner));
        agent.transferOwnership(bob);
        assertEq(registry.computerOf(address(agent)), address(0));
        assertEq(registry.agentOf(computer), address(0));

        AgentToken second = createAgent(agentOwner);
        registry.setComputer(address(second), computer, prove(computerKey, second, agentOwner));
        vm.stopPrank();
        vm.prank(bob);
        agent.transferOwnership(agentOwner);
        assertEq(registry.computerOf(address(agent)), address(0));
        assertEq(registry.computerOf(address(second)), computer);
        assertEq(registry.agentOf(computer), address(second));

        // A change of the sold agent does not touch the other's computer.
        (address next, uint256 nextKey) = makeAddrAndKey("next");
        vm.startPrank(agentOwner);
        registry.setComputer(address(agent), next, prove(nextKey, agent, agentOwner));
        assertEq(registry.agentOf(computer), address(second));
        assertEq(registry.agentOf(next), address(agent));
    }

    /// @dev Without an owner there is no computer.
    function testSetComputer_endsWithRenouncedOwnership() public {
        vm.startPrank(agentOwner);
        registry.setComputer(address(agent), computer, prove(computerKey, agent, agentOwner));
        agent.renounceOwnership();
        assertEq(registry.computerOf(address(agent)), address(0));
    }

    /// @dev A sale does not change the Safe: its signers hand it over, or the buyer sees that they did not.
    function testReplaceSafe_isTheSellersToHandOver() public {
        vm.prank(agentOwner);
        agent.transferOwnership(bob);
        assertEq(registry.safeOf(address(agent)), agentSafe);
        assertEq(ISafe(agentSafe).getOwners()[0], agentOwner);
        vm.expectRevert(IAgentDirectory.OnlySafe.selector);
        vm.prank(bob);
        registry.replaceSafe(address(agent), bob);
        safeCall(
            agentSafe, agentOwnerKey, address(registry), abi.encodeCall(registry.replaceSafe, (address(agent), bob))
        );
        assertEq(registry.safeOf(address(agent)), bob);
    }

    function testSetComputer_ofOneAgentOnly() public {
        AgentToken second = createAgent(agentOwner);
        vm.startPrank(agentOwner);
        registry.setComputer(address(agent), computer, prove(computerKey, agent, agentOwner));
        bytes memory proof = prove(computerKey, second, agentOwner);
        vm.expectRevert(abi.encodeWithSelector(IAgentDirectory.ComputerTaken.selector, computer, address(agent)));
        registry.setComputer(address(second), computer, proof);

        registry.setComputer(address(agent), computer, prove(computerKey, agent, agentOwner)); // again, for itself
        (address next, uint256 nextKey) = makeAddrAndKey("next");
        registry.setComputer(address(agent), next, prove(nextKey, agent, agentOwner));
        registry.setComputer(address(second), computer, proof);
        assertEq(registry.agentOf(next), address(agent));
        assertEq(registry.agentOf(computer), address(second));
    }

    /// @dev A computer may be a contract that signs by ERC-1271, here a Safe whose signer has the key.
    function testSetComputer_contractThatSigns() public {
        (address signer, uint256 signerKey) = makeAddrAndKey("signer");
        address safe = registry.safeOf(address(createAgent(signer)));
        bytes32 digest = registry.computerDigest(address(agent), agentOwner, safe);
        bytes32 safeMessage =
            keccak256(abi.encode(keccak256("SafeMessage(bytes message)"), keccak256(abi.encode(digest))));
        (uint8 v, bytes32 r, bytes32 s) =
            vm.sign(signerKey, keccak256(abi.encodePacked("\x19\x01", ISafe(safe).domainSeparator(), safeMessage)));
        vm.prank(agentOwner);
        registry.setComputer(address(agent), safe, abi.encodePacked(r, s, v));
        assertEq(registry.computerOf(address(agent)), safe);
    }

    /* SAFE */

    function testReplaceSafe_byTheSafeOnly() public {
        vm.expectRevert(IAgentDirectory.OnlySafe.selector);
        vm.prank(agentOwner);
        registry.replaceSafe(address(agent), bob);
        vm.expectRevert(IAgentDirectory.OnlySafe.selector);
        registry.replaceSafe(bob, bob);

        vm.expectEmit(address(registry));
        emit IAgentDirectory.SafeChanged(address(agent), bob);
        safeCall(
            agentSafe, agentOwnerKey, address(registry), abi.encodeCall(registry.replaceSafe, (address(agent), bob))
        );
        assertEq(registry.safeOf(address(agent)), bob);
    }

    function testReplaceSafe_zeroAddress() public {
        vm.expectRevert(IAgentDirectory.ZeroAddress.selector);
        vm.prank(agentSafe);
        registry.replaceSafe(address(agent), address(0));
    }

    /// @dev An unknown agent has no Safe, and no one can call from the zero address.
    function testFuzzReplaceSafe_ofAnUnknownAgent(address caller) public {
        expectOnly(caller, address(0), IAgentDirectory.OnlySafe.selector);
        registry.replaceSafe(bob, caller);
    }

    /* AGENT TOKEN */

    function testFuzzSetReserve_ownerOnly(address caller) public {
        vm.assume(caller != agentOwner);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, caller));
        vm.prank(caller);
        agent.setReserve(1);
    }

    function testSetReserve_capsTheAgent() public {
        back(alice, address(agent), 9e18);
        warpTo(1, 0);
        assertEq(pool.capacityToday(address(agent)), 9e9);
        vm.prank(agentOwner);
        agent.setReserve(4e18);
        assertEq(pool.capacityToday(address(agent)), 9e9);
        warpTo(1, 0);
        assertEq(pool.capacityToday(address(agent)), 4e9);
        vm.prank(agentOwner);
        agent.setReserve(type(uint256).max);
        warpTo(1, 0);
        assertEq(pool.capacityToday(address(agent)), 9e9);
    }

    /// @dev A real Safe owns the agent and acts for it.
    function testOwner_mayBeASafe() public {
        vm.prank(agentOwner);
        agent.transferOwnership(agentSafe);
        assertEq(agent.owner(), agentSafe);
        safeCall(agentSafe, agentOwnerKey, address(agent), abi.encodeCall(agent.setReserve, (3e18)));
        assertEq(pool.reservationOf(address(agent)), 3e18);
        bytes memory proof = prove(computerKey, agent, agentSafe);
        safeCall(
            agentSafe,
            agentOwnerKey,
            address(registry),
            abi.encodeCall(registry.setComputer, (address(agent), computer, proof))
        );
        assertEq(registry.computerOf(address(agent)), computer);
    }

    function prove(uint256 key, AgentToken agent_, address owner) private view returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, registry.computerDigest(address(agent_), owner, vm.addr(key)));
        return abi.encodePacked(r, s, v);
    }
}
