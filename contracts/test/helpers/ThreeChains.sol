// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IOFT} from "@layerzerolabs/oft-evm/contracts/interfaces/IOFT.sol";

import {Create3Factory} from "../../src/Create3Factory.sol";
import {InferenceSettlement} from "../../src/InferenceSettlement.sol";
import {InferenceToken} from "../../src/InferenceToken.sol";
import {OftDollarBridge} from "../../src/OftDollarBridge.sol";
import {TokenBackingOutbox} from "../../src/TokenBackingOutbox.sol";
import {TokenBridge} from "../../src/TokenBridge.sol";
import {TokenMinter} from "../../src/TokenMinter.sol";
import {IStablecoin} from "../../src/interfaces/IStablecoin.sol";
import {ITokenBridge} from "../../src/interfaces/ITokenBridge.sol";
import {ITokenMinter} from "../../src/interfaces/ITokenMinter.sol";
import {PathwayConfig} from "../../src/libraries/PathwayConfig.sol";
import {BaseTest} from "./BaseTest.sol";
import {PlainDollar} from "./Dollars.sol";
import {LayerZero, LayerZeroTools, Packet} from "./LayerZero.sol";
import {OftPool} from "./OftPool.sol";
import {ScriptedPool, ScriptedRegistry} from "./ScriptedAgents.sol";

/// @notice The contracts of one chain.
struct Chain {
    LayerZero lz;
    Create3Factory factory;
    address timelock;
    IStablecoin dollar;
    InferenceToken token;
    TokenMinter minter;
    TokenBridge bridge;
    /// @dev Secondary chains only.
    TokenBackingOutbox outbox;
    /// @dev The third-party dollar bridge.
    OftPool pool;
}

/// @notice Three chains in one EVM with LayerZero between them: the primary chain with USDC, secondary chain 1 with an
/// 18-decimal stablecoin, secondary chain 2 with its own USDC. A contract has different addresses on these chains only
/// because they share an EVM.
abstract contract ThreeChains is BaseTest, LayerZeroTools {
    uint32 internal constant EID_0 = 30_000;
    uint96 internal constant DAILY_MINT_CAP = 10_000e6;
    uint128 internal constant RECEIVE_GAS = 200_000;
    /// @dev The dollars that the dollar bridge can pay out on the primary chain, in token units.
    uint256 internal constant LIQUIDITY = 1e18;

    Chain internal primary;
    Chain internal one;
    Chain internal two;
    ScriptedPool internal pool;
    ScriptedRegistry internal registry;

    function setUp() public virtual override {
        (alice, aliceKey) = makeAddrAndKey("alice");
        vm.warp(1_800_000_000);
        vm.recordLogs();
        deployThreeChains(
            type(TokenMinter).creationCode, type(InferenceSettlement).creationCode, type(TokenBridge).creationCode
        );
    }

    /// @dev The decimals of the primary chain's stablecoin.
    function primaryDecimals() internal pure virtual returns (uint8) {
        return 6;
    }

    /// @dev The creation codes of the primary chain's contracts are arguments, so that a mutant can replace them.
    function deployThreeChains(bytes memory minterCode, bytes memory settlementCode, bytes memory bridgeCode) internal {
        usdc = deployUsdc(primaryDecimals());
        uint32[] memory secondaries = new uint32[](2);
        (secondaries[0], secondaries[1]) = (EID_1, EID_2);
        primary.lz = deployLayerZero(EID_0, secondaries);
        uint32[] memory hub = new uint32[](1);
        hub[0] = EID_0;
        one.lz = deployLayerZero(EID_1, hub);
        two.lz = deployLayerZero(EID_2, hub);

        factory = new Create3Factory(address(this));
        bridge = factory.addressOf("TokenBridge");
        pool = ScriptedPool(factory.deploy("InferencePool", type(ScriptedPool).creationCode));
        registry = ScriptedRegistry(factory.deploy("AgentRegistry", type(ScriptedRegistry).creationCode));
        deployPrimary(minterCode, settlementCode);
        (primary.factory, primary.timelock, primary.dollar) = (factory, timelock, usdc);
        (primary.token, primary.minter, primary.bridge) = (token, minter, TokenBridge(bridge));
        primary.pool = new OftPool(address(usdc), address(primary.lz.endpoint), address(this));
        usdc.mint(address(primary.pool), LIQUIDITY * minter.SCALE());

        one.factory = new Create3Factory(address(this));
        two.factory = new Create3Factory(address(this));
        ITokenBridge.Pathway[] memory pathways = new ITokenBridge.Pathway[](2);
        pathways[0] = pathway(primary.lz, EID_1, one.factory);
        pathways[1] = pathway(primary.lz, EID_2, two.factory);
        deployBridge(primary, bridgeCode, pathways);
        deploySecondary(one, IStablecoin(address(new PlainDollar(18))), "BackingInbox-30001");
        deploySecondary(two, deployUsdc(6), "BackingInbox-30002");
    }

    function deploySecondary(Chain storage chain, IStablecoin dollar, bytes32 inbox) private {
        chain.dollar = dollar;
        chain.timelock = makeAddr(string.concat("timelock ", vm.toString(chain.lz.eid)));
        deployPool(chain);
        Create3Factory f = chain.factory;
        chain.token = InferenceToken(f.addressOf("InferenceToken"));
        chain.minter = TokenMinter(f.addressOf("TokenMinter"));
        chain.outbox = TokenBackingOutbox(f.addressOf("TokenBackingOutbox"));
        address bridgeHere = f.addressOf("TokenBridge");
        bytes memory code = abi.encode(chain.minter, bridgeHere, address(0));
        f.deploy("InferenceToken", bytes.concat(type(InferenceToken).creationCode, code));
        code = abi.encode(chain.token, dollar, address(0), chain.outbox, bridgeHere, new ITokenMinter.Inbox[](0));
        f.deploy("TokenMinter", bytes.concat(type(TokenMinter).creationCode, code));
        OftDollarBridge adapter = new OftDollarBridge(
            IOFT(address(chain.pool)), EID_0, factory.addressOf(inbox), PathwayConfig.options(RECEIVE_GAS)
        );
        code = abi.encode(chain.minter, dollar, chain.timelock, adapter);
        f.deploy("TokenBackingOutbox", bytes.concat(type(TokenBackingOutbox).creationCode, code));

        ITokenBridge.Pathway[] memory pathways = new ITokenBridge.Pathway[](1);
        pathways[0] = pathway(chain.lz, EID_0, factory);
        deployBridge(chain, type(TokenBridge).creationCode, pathways);
    }

    function deployPool(Chain storage chain) internal {
        chain.pool = new OftPool(address(chain.dollar), address(chain.lz.endpoint), address(this));
        chain.pool.setPeer(EID_0, bytes32(uint256(uint160(address(primary.pool)))));
        primary.pool.setPeer(chain.lz.eid, bytes32(uint256(uint160(address(chain.pool)))));
    }

    function deployBridge(Chain storage chain, bytes memory code, ITokenBridge.Pathway[] memory pathways) private {
        bytes memory wiring = abi.encode(bridgeWiring(chain, pathways));
        chain.bridge = TokenBridge(chain.factory.deploy("TokenBridge", bytes.concat(code, wiring)));
    }

    function bridgeWiring(Chain memory chain, ITokenBridge.Pathway[] memory pathways)
        internal
        view
        returns (ITokenBridge.Wiring memory wiring)
    {
        wiring.endpoint = address(chain.lz.endpoint);
        wiring.token = chain.token;
        if (chain.lz.eid == EID_0) (wiring.minter, wiring.settlement) = (minter, settlement);
        wiring.timelock = chain.timelock;
        wiring.guardian = guardian;
        wiring.dailyMintCap = DAILY_MINT_CAP;
        wiring.receiveGas = RECEIVE_GAS;
        wiring.pathways = pathways;
    }

    function pathway(LayerZero memory lz, uint32 eid, Create3Factory there)
        internal
        view
        returns (ITokenBridge.Pathway memory)
    {
        return ITokenBridge.Pathway({
            eid: eid,
            peer: there.addressOf("TokenBridge"),
            sendLibrary: lz.sendLibrary,
            receiveLibrary: lz.receiveLibrary,
            executor: lz.executor,
            maxMessageSize: 1_000,
            sendConfirmations: confirmationsOf(lz.eid),
            receiveConfirmations: confirmationsOf(eid),
            verifiers: lz.verifiers
        });
    }

    /* TEST ACTIONS */

    /// @dev Gives `who` tokens on a chain by a par mint there.
    function fundTokenOn(Chain memory chain, address who, uint256 amount) internal {
        uint256 paid = amount * chain.minter.SCALE();
        PlainDollar(address(chain.dollar)).mint(who, paid);
        vm.startPrank(who);
        chain.dollar.approve(address(chain.minter), paid);
        chain.minter.mint(amount);
        vm.stopPrank();
    }

    /// @dev Fees are paid exactly, so that tests can check refunds.
    function bridgeFrom(Chain memory chain, Chain memory to, address who, uint256 amount)
        internal
        returns (Packet memory packet)
    {
        uint256 fee = chain.bridge.quote(to.lz.eid);
        vm.deal(who, fee);
        vm.prank(who);
        chain.bridge.bridge{value: fee}(to.lz.eid, amount, who, who);
        return sentPacket();
    }

    function activateFrom(Chain memory chain, address who, uint256 amount) internal returns (Packet memory packet) {
        uint256 fee = chain.bridge.quote(EID_0);
        vm.deal(who, fee);
        vm.prank(who);
        chain.bridge.activateOnBase{value: fee}(amount);
        return sentPacket();
    }

    /// @dev Flushes as `who` and returns the message of the dollar bridge.
    function flushFrom(Chain memory chain, address who) internal returns (Packet memory packet) {
        (, uint256 fee,) = chain.outbox.quoteFlush(type(uint256).max);
        vm.deal(who, fee);
        vm.prank(who);
        chain.outbox.flush{value: fee}(type(uint256).max);
        return sentPacket();
    }

    /// @dev Gives the line of a secondary chain dollars that cover its activations.
    function fundFloat(uint32 eid, uint256 amount) internal {
        fund(address(this), amount);
        minter.fundFloat(eid, amount);
    }

    /// @dev Flushes the pending dollars of a chain in one batch, delivers them and books them to its line.
    function land(Chain memory chain) internal {
        vm.warp(block.timestamp + 1 days);
        relay(primary.lz, flushFrom(chain, address(this)));
        minter.book(chain.lz.eid);
    }

    function assertLine(uint32 eid, uint256 balance, uint256 gifted) internal view {
        (uint256 actualBalance, uint256 actualGifted) = minter.lineOf(eid);
        assertEq(actualBalance, balance, "line");
        assertEq(actualGifted, gifted, "gifted");
    }

    function sentPacket() internal returns (Packet memory) {
        Packet[] memory packets = packetsIn(vm.getRecordedLogs());
        return packets[packets.length - 1];
    }

    /// @dev The argument of {ITokenBridge.deliver} that is not part of the packet's origin.
    function messageOf(Packet memory packet) internal pure returns (ITokenBridge.Message memory message) {
        message.kind = ITokenBridge.Kind(uint8(packet.message[0]));
        message.from = address(bytes20(word(packet.message, 1)));
        message.to = address(bytes20(word(packet.message, 21)));
        message.amount = uint96(bytes12(word(packet.message, 41)));
    }
}
