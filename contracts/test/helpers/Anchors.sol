// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {OFT} from "@layerzerolabs/oft-evm/contracts/OFT.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {BitMaps} from "@openzeppelin/contracts/utils/structs/BitMaps.sol";
import {ERC20 as SoladyERC20} from "solady/tokens/ERC20.sol";

/// @notice OpenZeppelin's token with permits, minted by its owner.
contract OpenZeppelinToken is ERC20Permit, Ownable {
    constructor(address owner) ERC20("Token", "T") ERC20Permit("Token") Ownable(owner) {}

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

/// @notice Solady's token with permits, minted by its owner.
contract SoladyToken is SoladyERC20, Ownable {
    constructor(address owner) Ownable(owner) {}

    function name() public pure override returns (string memory) {
        return "Token";
    }

    function symbol() public pure override returns (string memory) {
        return "T";
    }

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

/// @notice LayerZero's omnichain token (OFT).
contract LayerZeroToken is OFT {
    constructor(address lz, address owner) OFT("Token", "T", lz, owner) Ownable(owner) {}

    function mint(address to, uint256 amount) external onlyOwner {
        _mint(to, amount);
    }
}

/// @notice A settlement that debits one request per transaction, with the same checks as ours: replay (by the hash of
/// the request's id), credit and ceiling.
contract RequestSettlement is Ownable {
    using BitMaps for BitMaps.BitMap;

    struct Request {
        uint256 id;
        address account;
        uint96 amountNanoUsd;
    }

    event Debited(uint256 indexed id, address indexed account, uint256 amountNanoUsd, uint256 creditAfter);

    mapping(address account => uint256) public creditNanoUsd;
    mapping(uint256 day => uint256) public paidNanoUsd;
    uint256 public ceilingNanoUsd = 50e9;
    BitMaps.BitMap private settled;

    constructor(address owner) Ownable(owner) {}

    function credit(address account, uint256 amountNanoUsd) external onlyOwner {
        creditNanoUsd[account] += amountNanoUsd;
    }

    function settle(Request[] calldata requests) external onlyOwner {
        uint256 total;
        for (uint256 i; i < requests.length; ++i) {
            Request calldata request = requests[i];
            require(!settled.get(request.id));
            settled.set(request.id);
            uint256 creditAfter = creditNanoUsd[request.account] - request.amountNanoUsd;
            creditNanoUsd[request.account] = creditAfter;
            total += request.amountNanoUsd;
            emit Debited(request.id, request.account, request.amountNanoUsd, creditAfter);
        }
        uint256 paidAfter = paidNanoUsd[block.timestamp / 1 days] + total;
        require(paidAfter <= ceilingNanoUsd);
        paidNanoUsd[block.timestamp / 1 days] = paidAfter;
    }
}
