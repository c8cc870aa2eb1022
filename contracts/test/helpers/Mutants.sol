// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {InferenceSettlement} from "../../src/InferenceSettlement.sol";
import {TokenBridge} from "../../src/TokenBridge.sol";
import {TokenMinter} from "../../src/TokenMinter.sol";
import {IInferenceSettlement} from "../../src/interfaces/IInferenceSettlement.sol";
import {IInferenceToken} from "../../src/interfaces/IInferenceToken.sol";
import {IStablecoin} from "../../src/interfaces/IStablecoin.sol";
import {ITokenBackingOutbox} from "../../src/interfaces/ITokenBackingOutbox.sol";

/// @notice A minter in which each function adds one defect.
contract MutantMinter is TokenMinter {
    constructor(
        IInferenceToken token,
        IStablecoin stablecoin,
        IInferenceSettlement settlement,
        ITokenBackingOutbox outbox,
        address bridge,
        Inbox[] memory inboxes
    ) TokenMinter(token, stablecoin, settlement, outbox, bridge, inboxes) {}

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

    function raiseLineForNothing(uint32 eid, uint256 amount) external {
        _raiseLine(eid, amount);
    }

    function moveLine(uint32 from, uint32 to, uint128 amount) external {
        lineOf[from].balance -= amount;
        lineOf[to].balance += amount;
    }

    function forgetGifts(uint32 eid) external {
        lineOf[eid].gifted = 0;
    }
}

/// @notice A settlement in which each function adds one defect.
contract MutantSettlement is InferenceSettlement {
    using SafeCast for uint256;

    constructor(Wiring memory wiring) InferenceSettlement(wiring) {}

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

    function oweTwice(uint128 amountNanoUsd) external {
        _owedProviderNanoUsd += amountNanoUsd;
    }

    function oweOutsideTheRoles(uint128 amountNanoUsd) external {
        _totalOwedNanoUsd += amountNanoUsd;
    }

    function skipABatch() external {
        _batchCount += 1;
    }

    /// @dev A batch that ignores the ceiling.
    function settleBeyondTheCeiling(uint256 day, Debit[] calldata debits) external {
        uint256 total = _debitAll(_batchCount + 1, debits);
        paidNanoUsd[day] += total;
        (_batchCount, _totalDebitedNanoUsd) = (_batchCount + 1, _totalDebitedNanoUsd + total.toUint192());
        _owedProviderNanoUsd += total.toUint128();
        _totalOwedNanoUsd += total.toUint128();
        rootOf[_batchCount] = "root";
        emit Settled(_batchCount, day, "root", total, paidNanoUsd[day], _totalDebitedNanoUsd);
    }

    /// @dev A batch that announces a root and does not store it.
    function settleWithoutStoring(uint256 day) external {
        _batchCount += 1;
        emit Settled(_batchCount, day, "root", 0, paidNanoUsd[day], _totalDebitedNanoUsd);
    }

    /// @dev Yesterday gets today's ceiling.
    function reopenYesterday() external {
        _ceilingDay = 0;
    }

    function payFromNoDay(uint256 day, uint256 amountNanoUsd) external {
        paidNanoUsd[day] += amountNanoUsd;
    }

    /// @dev A serve that ignores the agent's capacity.
    function serveBeyondCapacity(address agent, uint256 day, uint256 amountNanoUsd) external {
        servedNanoUsd[agent][day] += amountNanoUsd;
        emit Served(_batchCount, agent, agent, day, amountNanoUsd, servedNanoUsd[agent][day]);
    }

    function mintBackTwice(address to, uint256 amount) external {
        MINTER.mintBack(to, amount);
    }
}

/// @notice A bridge in which each function adds one defect.
contract MutantBridge is TokenBridge {
    constructor(Wiring memory wiring) TokenBridge(wiring) {}

    function deliverAgain(bytes32 guid, uint32 srcEid, Message calldata message) external {
        require(_tryDeliver(guid, srcEid, message));
    }

    /// @dev Delivers a transfer that draws on gifts.
    function deliverFromGifts(bytes32 guid, uint32 srcEid, Message calldata message) external {
        require(MINTER.drawLine(srcEid, message.amount, true));
        emit Delivered(guid, srcEid, message);
        TOKEN.crosschainMint(message.to, message.amount);
    }

    /// @dev Mints regardless of line and cap.
    function deliverUncovered(bytes32 guid, uint32 srcEid, Message calldata message) external {
        emit Delivered(guid, srcEid, message);
        TOKEN.crosschainMint(message.to, message.amount);
    }

    function burnWithoutSending(address from, uint256 amount) external {
        TOKEN.crosschainBurn(from, amount);
    }
}
