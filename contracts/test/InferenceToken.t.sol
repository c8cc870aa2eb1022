// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {IERC7802} from "@openzeppelin/contracts/interfaces/draft-IERC7802.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

import {InferenceToken} from "../src/InferenceToken.sol";
import {IInferenceToken} from "../src/interfaces/IInferenceToken.sol";
import {BaseTest} from "./helpers/BaseTest.sol";

contract InferenceTokenTest is BaseTest {
    function setUp() public override {
        (alice, aliceKey) = makeAddrAndKey("alice");
        token = new InferenceToken(address(this), bridge, settler);
    }

    function testConstructor_wiresAndDescribes() public view {
        assertEq(token.MINTER(), address(this));
        assertEq(token.BRIDGE(), bridge);
        assertEq(token.SETTLEMENT(), settler);
        assertEq(token.name(), "Inference Token");
        assertEq(token.symbol(), "INFER");
        assertEq(token.decimals(), 6);
        assertEq(token.totalSupply(), 0);
    }

    function testFuzzMint_minterOnly(address caller, uint256 amount) public {
        token.mint(alice, amount);
        assertEq(token.balanceOf(alice), amount);
        assertEq(token.totalSupply(), amount);

        expectOnly(caller, address(this), IInferenceToken.OnlyMinter.selector);
        token.mint(alice, amount);
    }

    function testMint_zeroRecipient() public {
        vm.expectRevert(abi.encodeWithSelector(IERC20Errors.ERC20InvalidReceiver.selector, address(0)));
        token.mint(address(0), 1);
    }

    function testFuzzBurn_settlementOnlyAndWithoutAllowance(address caller, uint256 amount, uint256 burned) public {
        burned = bound(burned, 0, amount);
        token.mint(alice, amount);
        vm.prank(settler);
        token.burn(alice, burned);
        assertEq(token.balanceOf(alice), amount - burned);
        assertEq(token.totalSupply(), amount - burned);

        expectOnly(caller, settler, IInferenceToken.OnlySettlement.selector);
        token.burn(alice, 0);
    }

    function testBurn_moreThanBalance() public {
        token.mint(alice, 1);
        vm.expectRevert(abi.encodeWithSelector(IERC20Errors.ERC20InsufficientBalance.selector, alice, 1, 2));
        vm.prank(settler);
        token.burn(alice, 2);
    }

    function testFuzzCrosschain_bridgeOnly(address caller, uint256 amount) public {
        vm.expectEmit(address(token));
        emit IERC7802.CrosschainMint(alice, amount, bridge);
        vm.prank(bridge);
        token.crosschainMint(alice, amount);
        assertEq(token.balanceOf(alice), amount);

        vm.expectEmit(address(token));
        emit IERC7802.CrosschainBurn(alice, amount, bridge);
        vm.prank(bridge);
        token.crosschainBurn(alice, amount);
        assertEq(token.totalSupply(), 0);

        vm.assume(caller != bridge);
        vm.startPrank(caller);
        vm.expectRevert(IInferenceToken.OnlyBridge.selector);
        token.crosschainMint(alice, amount);
        vm.expectRevert(IInferenceToken.OnlyBridge.selector);
        token.crosschainBurn(alice, 0);
    }

    /// @dev The minter cannot burn, the settlement cannot mint, and the bridge cannot call the functions of either.
    function testRoles_areSeparate() public {
        vm.expectRevert(IInferenceToken.OnlySettlement.selector);
        token.burn(alice, 0);
        vm.expectRevert(IInferenceToken.OnlyBridge.selector);
        token.crosschainMint(alice, 0);
        vm.startPrank(settler);
        vm.expectRevert(IInferenceToken.OnlyMinter.selector);
        token.mint(alice, 0);
        vm.startPrank(bridge);
        vm.expectRevert(IInferenceToken.OnlyMinter.selector);
        token.mint(alice, 0);
        vm.expectRevert(IInferenceToken.OnlySettlement.selector);
        token.burn(alice, 0);
    }

    function testSupportsInterface_erc7802() public view {
        assertTrue(token.supportsInterface(type(IERC7802).interfaceId));
        assertTrue(token.supportsInterface(type(IERC165).interfaceId));
        assertFalse(token.supportsInterface(0xffffffff));
    }

    function testFuzzPermit_setsAllowanceOnce(uint256 value) public {
        (uint8 v, bytes32 r, bytes32 s) = signTokenPermit(value);
        token.permit(alice, bob, value, block.timestamp, v, r, s);
        assertEq(token.allowance(alice, bob), value);
        assertEq(token.nonces(alice), 1);

        vm.expectPartialRevert(ERC20Permit.ERC2612InvalidSigner.selector);
        token.permit(alice, bob, value, block.timestamp, v, r, s);
    }

    /// @dev The token has the same address on every chain, so only the chain id separates its permits.
    function testPermit_ofAnotherChain() public {
        (uint8 v, bytes32 r, bytes32 s) = signTokenPermit(1);
        vm.chainId(block.chainid + 1);
        vm.expectPartialRevert(ERC20Permit.ERC2612InvalidSigner.selector);
        token.permit(alice, bob, 1, block.timestamp, v, r, s);
    }

    function signTokenPermit(uint256 value) private view returns (uint8, bytes32, bytes32) {
        bytes32 message =
            keccak256(abi.encode(PERMIT_TYPEHASH, alice, bob, value, token.nonces(alice), block.timestamp));
        return vm.sign(aliceKey, keccak256(abi.encodePacked("\x19\x01", token.DOMAIN_SEPARATOR(), message)));
    }
}
