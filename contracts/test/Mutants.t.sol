// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Create3Factory} from "../src/Create3Factory.sol";
import {MutantMinter, MutantSettlement} from "./helpers/Mutants.sol";
import {PrimaryChecks} from "./helpers/PrimaryChecks.sol";

/// @notice Every invariant can fail: each defect is detected by exactly the invariants that it breaks.
contract MutantsTest is PrimaryChecks {
    MutantMinter internal mutantMinter;
    MutantSettlement internal mutantSettlement;
    address internal actor;

    function setUp() public override {
        super.setUp();
        factory = new Create3Factory(address(this));
        deployPrimary(type(MutantMinter).creationCode, type(MutantSettlement).creationCode);
        mutantMinter = MutantMinter(address(minter));
        mutantSettlement = MutantSettlement(address(settlement));
        startHandler();
        actor = handler.actors(0);
        handler.mint(0, 0, 1_000);
        handler.mintAndActivate(1, 0, 500);
        handler.activate(0, 1, 200, false);
        handler.transfer(0, 2, 100);
    }

    function testChecks_holdBeforeTheDefect() public view {
        assertEq(broken(), "");
    }

    function testDefect_tokenForNothing() public {
        handler.callObserved(address(minter), abi.encodeCall(mutantMinter.mintForNothing, (actor, 1)));
        assertEq(broken(), "I1a I7 ");
    }

    function testDefect_backingForNothing() public {
        handler.callObserved(address(minter), abi.encodeCall(mutantMinter.bookForNothing, (1)));
        assertEq(broken(), "I1a I2 I8 ");
    }

    function testDefect_dollarsSentUnbooked() public {
        handler.callObserved(address(minter), abi.encodeCall(mutantMinter.sendUnbooked, (actor, 1)));
        assertEq(broken(), "I2 ");
    }

    function testDefect_backingWrittenOff() public {
        handler.callObserved(address(minter), abi.encodeCall(mutantMinter.writeOff, (1)));
        assertEq(broken(), "I1a I8 ");
    }

    function testDefect_creditForNothing() public {
        handler.callObserved(address(settlement), abi.encodeCall(mutantSettlement.creditForNothing, (1, actor)));
        assertEq(broken(), "I1a I7 ");
    }

    function testDefect_burnWithoutCredit() public {
        handler.callObserved(address(settlement), abi.encodeCall(mutantSettlement.burnForNothing, (1, actor)));
        assertEq(broken(), "I1a I7 ");
    }

    function testDefect_creditOutsideTheTotal() public {
        handler.callObserved(address(settlement), abi.encodeCall(mutantSettlement.creditOutsideTheTotal, (1, actor)));
        assertEq(broken(), "I3 ");
    }

    function testDefect_idSkipped() public {
        handler.callObserved(address(settlement), abi.encodeCall(mutantSettlement.skipAnId, ()));
        assertEq(broken(), "I9 ");
    }

    /// @dev The counts agree again after the next activation; the sequence stays broken.
    function testDefect_idSkippedAndThenActivated() public {
        handler.callObserved(address(settlement), abi.encodeCall(mutantSettlement.skipAnId, ()));
        handler.mintAndActivate(0, 0, 1);
        assertEq(handler.lastId(), settlement.activationCount());
        assertEq(broken(), "I9 ");
    }

    function testDefect_announcedTwice() public {
        handler.callObserved(address(settlement), abi.encodeCall(mutantSettlement.announceTwice, (actor)));
        assertEq(broken(), "I9 ");
    }

    function testDefect_paidWithoutDebit() public {
        handler.callObserved(address(settlement), abi.encodeCall(mutantSettlement.payWithoutDebit, (actor, 1)));
        assertEq(broken(), "I1a I8 ");
    }

    /// @dev The invariants that do not hold, in order.
    function broken() private view returns (string memory names) {
        try this.checkI1a() {}
        catch {
            names = string.concat(names, "I1a ");
        }
        try this.checkI2() {}
        catch {
            names = string.concat(names, "I2 ");
        }
        try this.checkI3() {}
        catch {
            names = string.concat(names, "I3 ");
        }
        try this.checkI7() {}
        catch {
            names = string.concat(names, "I7 ");
        }
        try this.checkI8() {}
        catch {
            names = string.concat(names, "I8 ");
        }
        try this.checkI9() {}
        catch {
            names = string.concat(names, "I9 ");
        }
    }
}
