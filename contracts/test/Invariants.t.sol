// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {console} from "forge-std/console.sol";

import {Checks} from "./helpers/Checks.sol";
import {Flow} from "./helpers/Observer.sol";

/// @notice The invariants hold after any sequence of calls on the three chains. Mutants.t.sol shows that each check can
/// fail. The last run prints the amounts moved (-vv); forge prints the calls and reverts of each handler.
/// forge-config: fast.invariant.runs = 4
/// forge-config: default.invariant.runs = 32
/// forge-config: deep.invariant.runs = 500
contract InvariantsTest is Checks {
    function setUp() public override {
        super.setUp();
        startHandler();
        bytes4[] memory selectors = new bytes4[](25);
        selectors[0] = handler.mint.selector;
        selectors[1] = handler.mintWithPermit.selector;
        selectors[2] = handler.mintWithAuthorization.selector;
        selectors[3] = handler.mintAndActivate.selector;
        selectors[4] = handler.activate.selector;
        selectors[5] = handler.transfer.selector;
        selectors[6] = handler.mintOnSecondary.selector;
        selectors[7] = handler.bridge.selector;
        selectors[8] = handler.activateOnBase.selector;
        selectors[9] = handler.relay.selector;
        selectors[10] = handler.relayTwice.selector;
        selectors[11] = handler.lieAlone.selector;
        selectors[12] = handler.lieTogether.selector;
        selectors[13] = handler.deliver.selector;
        selectors[14] = handler.pause.selector;
        selectors[15] = handler.flush.selector;
        selectors[16] = handler.book.selector;
        selectors[17] = handler.fundFloat.selector;
        selectors[18] = handler.giftDollars.selector;
        selectors[19] = handler.setDollarBridgeFee.selector;
        selectors[20] = handler.wait.selector;
        selectors[21] = handler.settle.selector;
        selectors[22] = handler.settleServed.selector;
        selectors[23] = handler.pay.selector;
        selectors[24] = handler.changeCeiling.selector;
        targetContract(address(handler));
        targetSelector(FuzzSelector(address(handler), selectors));
    }

    /// @dev One campaign for all invariants; each is checked after every call.
    function invariant_booksOfThreeChains() public view {
        checkI1a();
        checkI1b();
        checkI2();
        checkI3();
        checkI4();
        checkI5();
        checkI6();
        checkI7();
        checkI8();
        checkI9();
    }

    function afterInvariant() public view {
        console.log("moved: par mint, flushed, sent from and to, delivered from and to, forged from and to");
        for (uint256 i; i < 3; ++i) {
            Flow memory flow = handler.flowOf(i);
            console.log(i, flow.pulled, flow.flushed);
            console.log(flow.sentFrom, flow.sentTo, flow.deliveredFrom, flow.deliveredTo);
            console.log(flow.forgedFrom, flow.forgedTo);
        }
        console.log("activations, chunks", handler.lastId(), handler.chunks());
        console.log("debited, paid out, minted back", handler.debited(), handler.paidOut(), handler.mintedBack());
    }
}

/// @notice The same with a stablecoin of 18 decimals on the primary chain.
/// forge-config: fast.invariant.runs = 4
/// forge-config: default.invariant.runs = 32
/// forge-config: deep.invariant.runs = 500
contract EighteenDecimalsInvariantsTest is InvariantsTest {
    function primaryDecimals() internal pure override returns (uint8) {
        return 18;
    }
}
