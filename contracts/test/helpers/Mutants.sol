// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {InferenceSettlement} from "../../src/InferenceSettlement.sol";
import {TokenMinter} from "../../src/TokenMinter.sol";
import {IInferenceSettlement} from "../../src/interfaces/IInferenceSettlement.sol";
import {IInferenceToken} from "../../src/interfaces/IInferenceToken.sol";
import {IStablecoin} from "../../src/interfaces/IStablecoin.sol";
import {ITokenBackingOutbox} from "../../src/interfaces/ITokenBackingOutbox.sol";
import {ITokenMinter} from "../../src/interfaces/ITokenMinter.sol";

/// @notice A minter with a defect behind each function.
contract MutantMinter is TokenMinter {
    constructor(
        IInferenceToken token,
        IStablecoin stablecoin,
        IInferenceSettlement settlement,
        ITokenBackingOutbox outbox
    ) TokenMinter(token, stablecoin, settlement, outbox) {}

    function mintForNothing(address to, uint256 amount) external {
        TOKEN.mint(to, amount);
    }

    function bookForNothing(uint256 amount) external {
        backing += amount;
    }

    function sendUnbooked(address to, uint256 amount) external {
        require(STABLECOIN.transfer(to, amount * SCALE));
    }

    function writeOff(uint256 amount) external {
        backing -= amount;
    }
}

/// @notice A settlement with a defect behind each function.
contract MutantSettlement is InferenceSettlement {
    constructor(IInferenceToken token, ITokenMinter minter, address timelock, address guardian, address settler)
        InferenceSettlement(token, minter, timelock, guardian, settler)
    {}

    function creditForNothing(uint256 amount, address account) external {
        _raiseCredit(amount, account, account, 0, 0);
    }

    function burnForNothing(uint256 amount, address holder) external {
        TOKEN.burn(holder, amount);
    }

    function creditOutsideTheTotal(uint256 amountNanoUsd, address account) external {
        creditNanoUsd[account] += amountNanoUsd;
    }

    function skipAnId() external {
        _activationCount += 1;
    }

    function announceTwice(address account) external {
        emit Activated(_activationCount, account, account, 1, _totalActivated, creditNanoUsd[account], 0, 0);
    }

    function payWithoutDebit(address to, uint256 amount) external {
        MINTER.payOut(to, amount);
    }
}
