// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Create3Factory} from "../../src/Create3Factory.sol";
import {InferenceToken} from "../../src/InferenceToken.sol";
import {TokenBackingOutbox} from "../../src/TokenBackingOutbox.sol";
import {TokenMinter} from "../../src/TokenMinter.sol";
import {AgentToken} from "../../src/agents/AgentToken.sol";
import {InferencePool} from "../../src/agents/InferencePool.sol";
import {ITokenMinter} from "../../src/interfaces/ITokenMinter.sol";
import {PlainDollar} from "../helpers/Dollars.sol";
import {IUsdc} from "../helpers/IUsdc.sol";
import {AgentsTest} from "./helpers/AgentsTest.sol";

/// @notice Agents off the primary chain, with an 18-decimal stablecoin: no pool and no treasury, but fees are converted
/// and backing is rewarded.
contract SecondaryChainTest is AgentsTest {
    TokenBackingOutbox internal outbox;

    function setUp() public override {
        super.setUp();
        usdc = IUsdc(address(new PlainDollar(18)));
        factory = new Create3Factory(address(this));
        token = InferenceToken(factory.addressOf("InferenceToken"));
        minter = TokenMinter(factory.addressOf("TokenMinter"));
        outbox = TokenBackingOutbox(factory.addressOf("TokenBackingOutbox"));
        factory.deploy(
            "InferenceToken", bytes.concat(type(InferenceToken).creationCode, abi.encode(minter, bridge, address(0)))
        );
        factory.deploy(
            "TokenMinter",
            bytes.concat(
                type(TokenMinter).creationCode,
                abi.encode(token, usdc, address(0), outbox, bridge, new ITokenMinter.Inbox[](0))
            )
        );
        factory.deploy(
            "TokenBackingOutbox",
            bytes.concat(type(TokenBackingOutbox).creationCode, abi.encode(minter, usdc, timelock, address(0)))
        );
        deployMarkets();
        pool = InferencePool(address(0));
        deployAgentsBesidePool();
        agent = createAgent(agentOwner);
        agentSafe = registry.safeOf(address(agent));
        vm.warp(block.timestamp + 1 hours);
    }

    function testConvert_dollarsGoToTheOutbox() public {
        back(alice, address(agent), 1e18);
        notify(address(agent), staking, 5e18);
        uint256 minted = converter.convert(address(agent), address(staking));
        assertApproxEqRel(minted, STAKE_PRICE_USD * 1e6, 0.004e18);
        assertEq(outbox.pending(), minted);
        assertEq(usdc.balanceOf(address(outbox)), minted * 1e12);
        assertEq(token.balanceOf(agentSafe), minted - minted / 2);
        warpTo(2, 0);
        vm.prank(alice);
        assertApproxEqAbs(vault.claim(address(agent)), minted / 2, 1);
    }

    /// @notice With an 18-decimal stablecoin, tokens are minted in whole units and the exact remainder is kept for the
    /// next conversion.
    function testFuzzAttack_dollarOf18Decimals(uint64[4] calldata fees) public {
        uint256 taken;
        uint256 minted;
        for (uint256 i; i < 4; ++i) {
            taken += notifyDollars(address(agent), uint256(fees[i]) + 5e12);
            minted += converter.convert(address(agent), address(usdc));
            assertEq(minted, taken / 1e12);
            assertEq(converter.pending(address(agent), address(usdc)), taken % 1e12);
        }
        notify(address(agent), staking, 5e18);
        minted = converter.convert(address(agent), address(staking));
        assertApproxEqRel(minted, STAKE_PRICE_USD * 1e6, 0.004e18);
        assertLt(usdc.balanceOf(address(converter)), 1e12);
        assertEq(usdc.balanceOf(address(converter)), converter.pending(address(agent), address(usdc)));
    }

    function testUnback_immediate() public {
        back(alice, address(agent), 5e18);
        assertEq(staking.balanceOf(address(vault)), 5e18);
        vm.prank(alice);
        vault.unback(address(agent), 5e18);
        assertEq(staking.balanceOf(alice), 5e18);
    }

    function testCreate_noTreasury() public view {
        assertEq(registry.treasuryOf(address(agent)), address(0));
        assertEq(address(AgentToken(agent).POOL()), address(0));
    }
}
