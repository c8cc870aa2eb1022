// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {MessagingFee} from "@layerzerolabs/oapp-evm/contracts/oapp/OApp.sol";
import {SendParam} from "@layerzerolabs/oft-evm/contracts/interfaces/IOFT.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";

import {PathwayConfig} from "../src/libraries/PathwayConfig.sol";
import {LayerZeroToken, OpenZeppelinToken, RequestSettlement, SoladyToken} from "./helpers/Anchors.sol";
import {PlainDollar} from "./helpers/Dollars.sol";
import {ThreeChains} from "./helpers/ThreeChains.sol";

/// @notice The gas of the same operations with third-party code, as whole transactions in the same EVM. Recorded in
/// snapshots/Anchors.json and compared in the README of this package.
/// forge-config: default.isolate = true
contract AnchorsGasTest is ThreeChains {
    OpenZeppelinToken internal openZeppelin;
    SoladyToken internal solady;
    LayerZeroToken internal layerZero;
    RequestSettlement internal requests;

    function setUp() public override {
        super.setUp();
        openZeppelin = new OpenZeppelinToken(address(this));
        solady = new SoladyToken(address(this));
        layerZero = new LayerZeroToken(address(two.lz.endpoint), address(this));
        layerZero.setPeer(EID_0, bytes32(uint256(uint160(address(layerZero)))));
        layerZero.mint(alice, 100e18);
        requests = new RequestSettlement(address(this));
        address[3] memory tokens = [address(openZeppelin), address(solady), address(usdc)];
        for (uint256 i; i < 3; ++i) {
            PlainDollar(tokens[i]).mint(alice, 100e6);
            PlainDollar(tokens[i]).mint(bob, 100e6);
        }
        vm.deal(alice, 1 ether);
        sendOft();
    }

    function workerFee() internal pure override returns (uint256) {
        return 0;
    }

    function testGas_transferToAHolder() public {
        vm.startPrank(alice);
        assertTrue(openZeppelin.transfer(bob, 1e6));
        vm.snapshotGasLastCall("Anchors", "OpenZeppelin: transfer to a holder");
        assertTrue(solady.transfer(bob, 1e6));
        vm.snapshotGasLastCall("Anchors", "Solady: transfer to a holder");
        assertTrue(usdc.transfer(bob, 1e6));
        vm.snapshotGasLastCall("Anchors", "USDC: transfer to a holder");
    }

    function testGas_mint() public {
        openZeppelin.mint(alice, 1e6);
        vm.snapshotGasLastCall("Anchors", "OpenZeppelin: mint by an owner");
        solady.mint(alice, 1e6);
        vm.snapshotGasLastCall("Anchors", "Solady: mint by an owner");
        usdc.mint(alice, 1e6);
        vm.snapshotGasLastCall("Anchors", "USDC: mint by a minter");
    }

    function testGas_permit() public {
        permitOf(address(openZeppelin));
        vm.snapshotGasLastCall("Anchors", "OpenZeppelin: permit");
        permitOf(address(solady));
        vm.snapshotGasLastCall("Anchors", "Solady: permit");
        permitOf(address(usdc));
        vm.snapshotGasLastCall("Anchors", "USDC: permit");
    }

    function testGas_sendOft() public {
        sendOft();
        vm.snapshotGasLastCall("Anchors", "LayerZero OFT: send");
    }

    function testGas_settlePerRequest() public {
        uint256[4] memory sizes = [uint256(1), 10, 50, 100];
        uint256 id;
        requests.credit(alice, 50e9);
        for (uint256 i; i < sizes.length; ++i) {
            RequestSettlement.Request[] memory list = new RequestSettlement.Request[](sizes[i]);
            for (uint256 j; j < sizes[i]; ++j) {
                address account = address(uint160(uint256(keccak256(abi.encode(id)))));
                requests.credit(account, 50e9);
                list[j] = RequestSettlement.Request(uint256(keccak256(abi.encode(++id))), account, 12_345_678);
            }
            requests.settle(list);
            vm.snapshotGasLastCall("Anchors", string.concat("settle ", vm.toString(sizes[i]), " requests one by one"));
        }
    }

    function permitOf(address permitToken) private {
        (uint8 v, bytes32 r, bytes32 s) = signTokenPermit(permitToken, aliceKey, bob, 1e6);
        IERC20Permit(permitToken).permit(alice, bob, 1e6, block.timestamp, v, r, s);
    }

    function sendOft() private {
        SendParam memory param;
        (param.dstEid, param.to) = (EID_0, bytes32(uint256(uint160(alice))));
        (param.amountLD, param.extraOptions) = (1e18, PathwayConfig.options(RECEIVE_GAS));
        vm.prank(alice);
        layerZero.send(param, MessagingFee(0, 0), alice);
    }
}
