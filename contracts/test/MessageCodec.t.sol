// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITokenBridge} from "../src/interfaces/ITokenBridge.sol";
import {MessageCodec} from "../src/libraries/MessageCodec.sol";
import {BaseTest} from "./helpers/BaseTest.sol";

contract MessageCodecTest is BaseTest {
    function setUp() public override {}

    function testFuzzDecode_undoesEncode(bool isActivation, address from, address to, uint96 amount) public view {
        ITokenBridge.Kind kind = isActivation ? ITokenBridge.Kind.Activation : ITokenBridge.Kind.Transfer;
        bytes memory payload = MessageCodec.encode(ITokenBridge.Message(kind, from, to, amount));
        assertEq(payload, abi.encodePacked(isActivation, from, to, amount));
        assertEq(payload.length, 53);
        ITokenBridge.Message memory message = this.decode(payload);
        assertEq(uint8(message.kind), uint8(kind));
        assertEq(message.from, from);
        assertEq(message.to, to);
        assertEq(message.amount, amount);
    }

    function testFuzzDecode_tooShort(uint256 length) public {
        bytes memory payload = new bytes(bound(length, 0, 52));
        vm.expectRevert();
        this.decode(payload);
    }

    function testFuzzDecode_unknownKind(uint8 kind) public {
        vm.assume(kind > 1);
        bytes memory payload = new bytes(53);
        payload[0] = bytes1(kind);
        vm.expectRevert(abi.encodeWithSignature("Panic(uint256)", 0x21));
        this.decode(payload);
    }

    function decode(bytes calldata payload) external pure returns (ITokenBridge.Message memory) {
        return MessageCodec.decode(payload);
    }
}
