// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PrimaryChecks} from "./helpers/PrimaryChecks.sol";
import {PrimaryHandler} from "./helpers/PrimaryHandler.sol";

/// @notice The invariants hold after any sequence of calls on the primary chain. That the same checks can fail is shown in
/// Mutants.t.sol.
contract PrimaryInvariantsTest is PrimaryChecks {
    function setUp() public override {
        super.setUp();
        startHandler();
        bytes4[] memory selectors = new bytes4[](9);
        selectors[0] = PrimaryHandler.mint.selector;
        selectors[1] = PrimaryHandler.mintWithPermit.selector;
        selectors[2] = PrimaryHandler.mintWithAuthorization.selector;
        selectors[3] = PrimaryHandler.mintAndActivate.selector;
        selectors[4] = PrimaryHandler.activate.selector;
        selectors[5] = PrimaryHandler.transfer.selector;
        selectors[6] = PrimaryHandler.giftDollars.selector;
        selectors[7] = PrimaryHandler.wait.selector;
        selectors[8] = PrimaryHandler.tryWithoutRight.selector;
        targetContract(address(handler));
        targetSelector(FuzzSelector(address(handler), selectors));
    }

    /// @dev One campaign for all: each is checked after every call.
    function invariant_primaryBooks() public view {
        checkI1a();
        checkI2();
        checkI3();
        checkI7();
        checkI8();
        checkI9();
    }
}
