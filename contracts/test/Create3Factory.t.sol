// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Create3} from "@openzeppelin/contracts/utils/Create3.sol";
import {Errors} from "@openzeppelin/contracts/utils/Errors.sol";

import {Create3Factory} from "../src/Create3Factory.sol";
import {TokenMinter} from "../src/TokenMinter.sol";
import {ICreate3Factory} from "../src/interfaces/ICreate3Factory.sol";
import {ITokenMinter} from "../src/interfaces/ITokenMinter.sol";
import {BaseTest} from "./helpers/BaseTest.sol";
import {PlainDollar} from "./helpers/Dollars.sol";

contract Create3FactoryTest is BaseTest {
    function setUp() public override {
        factory = new Create3Factory(address(this));
    }

    function testFuzzDeploy_addressDependsOnSaltAlone(bytes32 salt, uint8 decimals) public {
        address predicted = factory.addressOf(salt);
        vm.expectEmit(address(factory));
        emit ICreate3Factory.Deployed(salt, predicted);
        address deployed = factory.deploy(salt, code(decimals));
        assertEq(deployed, predicted);
        assertEq(PlainDollar(deployed).decimals(), decimals);
    }

    function testFuzzDeploy_ownerOnly(address caller) public {
        expectOnly(caller, address(this), ICreate3Factory.OnlyOwner.selector);
        factory.deploy("a", code(6));
    }

    function testDeploy_takenSalt() public {
        factory.deploy("a", code(6));
        vm.expectRevert(Errors.FailedDeployment.selector);
        factory.deploy("a", code(7));
    }

    function testDeploy_emptyCode() public {
        vm.expectRevert(Create3.Create3EmptyBytecode.selector);
        factory.deploy("a", "");
    }

    function testDeploy_constructorsErrorIsPassedOn() public {
        bytes memory arguments =
            abi.encode(address(1), address(2), address(0), address(0), address(0), new address[](0));
        vm.expectRevert(ITokenMinter.AmbiguousChain.selector);
        factory.deploy("a", bytes.concat(type(TokenMinter).creationCode, arguments));
    }

    function testSeal_disablesDeployment() public {
        assertFalse(factory.isSealed());
        vm.expectEmit(address(factory));
        emit ICreate3Factory.Sealed();
        factory.seal();
        assertTrue(factory.isSealed());
        vm.expectRevert(ICreate3Factory.AlreadySealed.selector);
        factory.deploy("a", code(6));
        vm.expectRevert(ICreate3Factory.AlreadySealed.selector);
        factory.seal();
    }

    function testFuzzSeal_ownerOnly(address caller) public {
        expectOnly(caller, address(this), ICreate3Factory.OnlyOwner.selector);
        factory.seal();
    }

    function code(uint8 decimals) private pure returns (bytes memory) {
        return bytes.concat(type(PlainDollar).creationCode, abi.encode(decimals));
    }
}
