// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

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
    constructor(Wiring memory wiring) InferenceSettlement(wiring) {}

    function creditForNothing(uint256 amount, address account) external {
        _raiseCredit(amount, account, account, 0, 0);
    }

    function burnForNothing(uint256 amount, address holder) external {
        TOKEN.burn(holder, amount);
    }

    function creditOutsideTheTotal(uint256 amountNanoUsd, address account) external {
        _accounts[account].totals += amountNanoUsd << 80;
    }

    function skipAnId() external {
        activationCount += 1;
    }

    function announceTwice(address account) external {
        (uint80 activated,,) = accountOf(account);
        emit Activated(activationCount, account, account, 1, totalActivated, activated, 0, 0);
    }

    function payWithoutDebit(address to, uint256 amount) external {
        MINTER.payOut(to, amount);
    }

    function oweTwice(uint128 amountNanoUsd) external {
        owedProviderNanoUsd += amountNanoUsd;
    }

    function oweOutsideTheRoles(uint128 amountNanoUsd) external {
        _totalPaidNanoUsd -= amountNanoUsd;
    }

    function payASafeTwice(address agent, uint80 amountNanoUsd) external {
        _agents[agent].paidSafe -= amountNanoUsd;
    }

    function mintBackTwice(address to, uint256 amount) external {
        MINTER.mintBack(to, amount);
    }

    function payBackTwice(address account, uint256 amountNanoUsd) external {
        _paidBack[account] -= amountNanoUsd;
    }

    /// @dev The next record starts at a total that an earlier record has passed.
    function forgetADebit(address account, uint256 amountNanoUsd) external {
        _accounts[account].totals -= amountNanoUsd;
    }

    function forgetWhatWasServedTo(address account, uint256 amountNanoUsd) external {
        _accounts[account].totals -= amountNanoUsd << 160;
    }

    /// @dev A chunk that ignores the ceiling.
    function settleBeyondTheCeiling(uint32 day, bytes calldata data) external {
        (address settlerBefore, uint96 ceilingBefore) = (settler, ceilingNanoUsd);
        (settler, ceilingNanoUsd) = (address(this), type(uint96).max);
        this.settle(day, data);
        (settler, ceilingNanoUsd) = (settlerBefore, ceilingBefore);
    }

    /// @dev A chunk that announces a root and does not store it.
    function settleWithoutStoring(uint32 day) external {
        emit Settled(day, "root", 0, paidNanoUsd[day], totalDebitedNanoUsd, hex"00");
    }

    /// @dev A chunk whose root is not that of its records.
    function settleUnderAnotherRoot(uint32 day, address account) external {
        blockOf["root"] = block.number;
        (, uint80 debited,) = accountOf(account);
        bytes memory data = abi.encodePacked(hex"00", account, uint64(debited), uint64(1), bytes32(0), hex"00");
        _accounts[account].totals += 1;
        (paidNanoUsd[day], totalDebitedNanoUsd) = (paidNanoUsd[day] + 1, totalDebitedNanoUsd + 1);
        owedProviderNanoUsd += 1;
        emit Settled(day, "root", 1, paidNanoUsd[day], totalDebitedNanoUsd, data);
    }

    /// @dev Yesterday gets today's ceiling.
    function reopenYesterday() external {
        _ceilingDay = 0;
    }

    function payFromNoDay(uint256 day, uint256 amountNanoUsd) external {
        paidNanoUsd[day] += amountNanoUsd;
    }

    /// @dev The agent's capacity of the day is free again.
    function forgetWhatWasServedBy(address agent, uint256 day) external {
        servedNanoUsd[agent][day] = 0;
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
