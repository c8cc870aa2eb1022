// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
    ILayerZeroEndpointV2,
    Origin
} from "@layerzerolabs/lz-evm-protocol-v2/contracts/interfaces/ILayerZeroEndpointV2.sol";
import {CommonBase} from "forge-std/Base.sol";
import {StdCheats} from "forge-std/StdCheats.sol";
import {Vm} from "forge-std/Vm.sol";

import {PathwayConfig} from "../../src/libraries/PathwayConfig.sol";

/// @notice The functions of LayerZero's message libraries that the tests call.
interface ISendUln302 {
    struct DefaultExecutor {
        uint32 eid;
        PathwayConfig.ExecutorConfig config;
    }

    function setDefaultExecutorConfigs(DefaultExecutor[] calldata params) external;
}

interface IUln302 {
    struct DefaultUln {
        uint32 eid;
        PathwayConfig.UlnConfig config;
    }

    error LZ_ULN_Verifying();

    function setDefaultUlnConfigs(DefaultUln[] calldata params) external;
    function verify(bytes calldata packetHeader, bytes32 payloadHash, uint64 confirmations) external;
    function commitVerification(bytes calldata packetHeader, bytes32 payloadHash) external;
}

/// @notice An executor or verifier on the source chain, which takes every job for a fixed fee. On the destination chain
/// the tests act for it.
contract Worker {
    uint256 public immutable FEE;

    constructor(uint256 fee) {
        FEE = fee;
    }

    function assignJob(uint32, address, uint256, bytes calldata) external view returns (uint256) {
        return FEE;
    }

    function getFee(uint32, address, uint256, bytes calldata) external view returns (uint256) {
        return FEE;
    }

    function assignJob(VerifierJob calldata, bytes calldata) external payable returns (uint256) {
        return FEE;
    }

    function getFee(uint32, uint64, address, bytes calldata) external view returns (uint256) {
        return FEE;
    }

    struct VerifierJob {
        uint32 dstEid;
        bytes packetHeader;
        bytes32 payloadHash;
        uint64 confirmations;
        address sender;
    }
}

/// @notice LayerZero's contracts on one chain.
struct LayerZero {
    uint32 eid;
    ILayerZeroEndpointV2 endpoint;
    address sendLibrary;
    address receiveLibrary;
    address executor;
    /// @dev In ascending order.
    address[] verifiers;
}

/// @notice A message in flight, with the fields of LayerZero's packet.
struct Packet {
    uint32 srcEid;
    bytes32 sender;
    uint32 dstEid;
    address receiver;
    uint64 nonce;
    bytes32 guid;
    bytes message;
    bytes header;
}

/// @notice Deploys LayerZero's endpoint and message libraries from npm, and acts as relayer.
abstract contract LayerZeroTools is CommonBase, StdCheats {
    string private constant PROTOCOL = "../node_modules/@layerzerolabs/lz-evm-protocol-v2/artifacts/contracts/";
    string private constant ULN = "../node_modules/@layerzerolabs/lz-evm-messagelib-v2/artifacts/contracts/uln/uln302/";

    /// @dev Block confirmations of a message of this chain, different for each chain: a pathway that confuses its two
    /// directions then fails in one of them.
    function confirmationsOf(uint32 eid) internal pure returns (uint64) {
        return 10 + eid % 10;
    }

    function deployLayerZero(uint32 eid, uint32[] memory others) internal returns (LayerZero memory lz) {
        lz.eid = eid;
        address endpoint =
            deployCode(string.concat(PROTOCOL, "EndpointV2.sol/EndpointV2.json"), abi.encode(eid, address(this)));
        lz.endpoint = ILayerZeroEndpointV2(endpoint);
        lz.sendLibrary =
            deployCode(string.concat(ULN, "SendUln302.sol/SendUln302.json"), abi.encode(endpoint, 100_000, 0));
        lz.receiveLibrary = deployCode(string.concat(ULN, "ReceiveUln302.sol/ReceiveUln302.json"), abi.encode(endpoint));
        lz.executor = address(new Worker(workerFee()));
        lz.verifiers = new address[](2);
        (address first, address second) = (address(new Worker(workerFee())), address(new Worker(workerFee())));
        (lz.verifiers[0], lz.verifiers[1]) = first < second ? (first, second) : (second, first);
        lz.endpoint.registerLibrary(lz.sendLibrary);
        lz.endpoint.registerLibrary(lz.receiveLibrary);
        for (uint256 i; i < others.length; ++i) {
            setDefaults(lz, others[i]);
        }
    }

    /// @dev The fee of an executor, and of each verifier, for a message, in wei.
    function workerFee() internal pure virtual returns (uint256) {
        return 1e12;
    }

    /// @dev The libraries serve only chains with default settings, which the dollar pools use.
    function setDefaults(LayerZero memory lz, uint32 other) private {
        IUln302.DefaultUln[] memory ulns = new IUln302.DefaultUln[](1);
        ulns[0].eid = other;
        ulns[0].config.confirmations = confirmationsOf(lz.eid);
        ulns[0].config.requiredDVNCount = 2;
        ulns[0].config.requiredDVNs = lz.verifiers;
        IUln302(lz.sendLibrary).setDefaultUlnConfigs(ulns);
        ulns[0].config.confirmations = confirmationsOf(other);
        IUln302(lz.receiveLibrary).setDefaultUlnConfigs(ulns);
        ISendUln302.DefaultExecutor[] memory executors = new ISendUln302.DefaultExecutor[](1);
        executors[0] = ISendUln302.DefaultExecutor(other, PathwayConfig.ExecutorConfig(10_000, lz.executor));
        ISendUln302(lz.sendLibrary).setDefaultExecutorConfigs(executors);
        lz.endpoint.setDefaultSendLibrary(other, lz.sendLibrary);
        lz.endpoint.setDefaultReceiveLibrary(other, lz.receiveLibrary, 0);
    }

    /// @dev One verifier attests the packet.
    function verifyAs(LayerZero memory lz, uint256 verifier, Packet memory packet) internal {
        vm.prank(lz.verifiers[verifier]);
        IUln302(lz.receiveLibrary).verify(packet.header, payloadHash(packet), confirmationsOf(packet.srcEid));
    }

    function commit(LayerZero memory lz, Packet memory packet) internal {
        IUln302(lz.receiveLibrary).commitVerification(packet.header, payloadHash(packet));
    }

    /// @dev Executes the packet, as an executor or anyone else may.
    function execute(LayerZero memory lz, Packet memory packet) internal {
        Origin memory origin = Origin(packet.srcEid, packet.sender, packet.nonce);
        lz.endpoint.lzReceive(origin, packet.receiver, packet.guid, packet.message, "");
    }

    /// @dev All steps that are required before a message can be delivered.
    function verify(LayerZero memory lz, Packet memory packet) internal {
        verifyAs(lz, 0, packet);
        verifyAs(lz, 1, packet);
        commit(lz, packet);
    }

    function relay(LayerZero memory lz, Packet memory packet) internal {
        verify(lz, packet);
        execute(lz, packet);
    }

    function payloadHash(Packet memory packet) internal pure returns (bytes32) {
        return keccak256(bytes.concat(packet.guid, packet.message));
    }

    /// @dev A packet that no one sent. It uses the next unverified nonce and so takes the place of the packet that was
    /// or will be sent with that nonce.
    function forgePacket(LayerZero memory lz, uint32 srcEid, address sender, address receiver, bytes memory message)
        internal
        view
        returns (Packet memory packet)
    {
        packet.srcEid = srcEid;
        packet.sender = bytes32(uint256(uint160(sender)));
        packet.dstEid = lz.eid;
        packet.receiver = receiver;
        packet.nonce = lz.endpoint.inboundNonce(receiver, srcEid, packet.sender) + 1;
        bytes32 to = bytes32(uint256(uint160(receiver)));
        packet.guid = keccak256(abi.encodePacked("forged", packet.nonce, srcEid, packet.sender, lz.eid, to));
        packet.message = message;
        packet.header = abi.encodePacked(uint8(1), packet.nonce, srcEid, packet.sender, lz.eid, to);
    }

    /// @dev The packets in these logs, in order. PacketV1: version, nonce, path, guid, message.
    function packetsIn(Vm.Log[] memory logs) internal pure returns (Packet[] memory packets) {
        packets = new Packet[](logs.length);
        uint256 count;
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].topics[0] != keccak256("PacketSent(bytes,bytes,address)")) continue;
            (bytes memory encoded,,) = abi.decode(logs[i].data, (bytes, bytes, address));
            packets[count++] = parsePacket(encoded);
        }
        assembly ("memory-safe") {
            mstore(packets, count)
        }
    }

    function parsePacket(bytes memory encoded) private pure returns (Packet memory packet) {
        packet.nonce = uint64(uint256(word(encoded, 1)) >> 192);
        packet.srcEid = uint32(uint256(word(encoded, 9)) >> 224);
        packet.sender = word(encoded, 13);
        packet.dstEid = uint32(uint256(word(encoded, 45)) >> 224);
        packet.receiver = address(uint160(uint256(word(encoded, 49))));
        packet.guid = word(encoded, 81);
        packet.header = part(encoded, 0, 81);
        packet.message = part(encoded, 113, encoded.length);
    }

    function word(bytes memory data, uint256 from) internal pure returns (bytes32 result) {
        assembly ("memory-safe") {
            result := mload(add(add(data, 0x20), from))
        }
    }

    function part(bytes memory data, uint256 from, uint256 to) private pure returns (bytes memory result) {
        result = new bytes(to - from);
        for (uint256 i; i < result.length; ++i) {
            result[i] = data[from + i];
        }
    }
}
