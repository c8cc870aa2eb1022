// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IInferencePool} from "./interfaces/IInferencePool.sol";
import {IInferenceSettlement} from "./interfaces/IInferenceSettlement.sol";
import {IInferenceToken} from "./interfaces/IInferenceToken.sol";
import {ITokenMinter} from "./interfaces/ITokenMinter.sol";
import {ChunkCodec} from "./libraries/ChunkCodec.sol";

/// @title InferenceSettlement
/// @notice Keeps the totals of every account, debits them in chunks, and pays what is owed. See {IInferenceSettlement}.
contract InferenceSettlement is IInferenceSettlement {
    using SafeCast for uint256;
    using ChunkCodec for bytes;

    /* CONSTANTS */

    /// @inheritdoc IInferenceSettlement
    uint256 public constant NANO_USD_PER_TOKEN_UNIT = 1000;
    /// @inheritdoc IInferenceSettlement
    uint96 public constant FIRST_CEILING_NANO_USD = 50e9;
    /// @inheritdoc IInferenceSettlement
    uint256 public constant GRACE = 6 hours;

    uint256 private constant SAFE_PERCENT = 40;
    uint256 private constant TREASURY_PERCENT = 50;
    uint256 private constant BACK_PERCENT = 10;

    /* IMMUTABLES */

    /// @inheritdoc IInferenceSettlement
    IInferenceToken public immutable TOKEN;
    /// @inheritdoc IInferenceSettlement
    ITokenMinter public immutable MINTER;
    /// @inheritdoc IInferenceSettlement
    address public immutable BRIDGE;
    /// @inheritdoc IInferenceSettlement
    IInferencePool public immutable POOL;
    /// @inheritdoc IInferenceSettlement
    IAgentRegistry public immutable REGISTRY;
    /// @inheritdoc IInferenceSettlement
    address public immutable TIMELOCK;

    /* STORAGE */

    /// @inheritdoc IInferenceSettlement
    address public settler;
    /// @inheritdoc IInferenceSettlement
    uint96 public ceilingNanoUsd = FIRST_CEILING_NANO_USD;
    /// @inheritdoc IInferenceSettlement
    address public guardian;
    /// @inheritdoc IInferenceSettlement
    address public provider;
    /// @inheritdoc IInferenceSettlement
    mapping(uint256 day => uint256) public paidNanoUsd;
    /// @inheritdoc IInferenceSettlement
    mapping(address agent => mapping(uint256 day => uint256)) public servedNanoUsd;
    /// @inheritdoc IInferenceSettlement
    mapping(bytes32 root => uint256) public blockOf;
    /// @inheritdoc IInferenceSettlement
    bytes32 public receiptKey;

    /// @inheritdoc IInferenceSettlement
    /// @dev Packed in one slot with the next two, because an activation and a chunk write most of them.
    uint64 public activationCount;
    /// @inheritdoc IInferenceSettlement
    uint96 public totalActivated;
    /// @inheritdoc IInferenceSettlement
    uint96 public totalDebitedNanoUsd;
    /// @inheritdoc IInferenceSettlement
    /// @dev Packed in one slot with the next, because a payment writes both.
    uint128 public owedProviderNanoUsd;
    uint128 internal _totalPaidNanoUsd;

    mapping(address account => Account) internal _accounts;
    mapping(address agent => Agent) internal _agents;
    /// @dev What was minted of each account's tenth, in nano-dollars.
    mapping(address account => uint256) internal _paidBack;

    /// @dev The last day on which the ceiling changed, and the ceiling with which the day before had ended.
    uint64 internal _ceilingDay;
    uint96 internal _ceilingAtMidnight;

    /// @dev Three totals in nano-dollars in one word, 80 bits each: debited (the lowest), activated, served by agents.
    struct Account {
        uint256 totals;
    }

    /// @dev Totals in nano-dollars: the amount that an agent served, and the payments to its Safe and treasury.
    struct Agent {
        uint80 served;
        uint80 paidSafe;
        uint80 paidTreasury;
    }

    /// @dev A chunk under way, in memory.
    struct Chunk {
        /// @dev Where the next booked record, its leaf, and the preimage of a leaf with parts are written.
        uint256 record;
        uint256 leaf;
        uint256 preimage;
        /// @dev What the ceiling of the day leaves.
        uint256 left;
        Server[] servers;
    }

    /// @dev An entry of the table of agents: the capacity left on the day, and the amount served in the chunk.
    struct Server {
        address agent;
        uint16 day;
        uint256 left;
        uint256 served;
    }

    /* CONSTRUCTOR */

    constructor(Wiring memory wiring) {
        TOKEN = wiring.token;
        MINTER = wiring.minter;
        BRIDGE = wiring.bridge;
        POOL = wiring.pool;
        REGISTRY = wiring.registry;
        TIMELOCK = wiring.timelock;
        emit CeilingChanged(0, FIRST_CEILING_NANO_USD);
        _setGuardian(wiring.guardian);
        _setSettler(wiring.settler);
        _setProvider(wiring.provider);
        _setReceiptKey(wiring.receiptKey);
    }

    /* MODIFIERS */

    modifier onlyTimelock() {
        require(msg.sender == TIMELOCK, OnlyTimelock());
        _;
    }

    modifier onlyGuardian() {
        require(msg.sender == guardian, OnlyGuardian());
        _;
    }

    /* CREDIT */

    /// @inheritdoc IInferenceSettlement
    function activate(uint256 amount) external {
        _raiseCredit(amount, msg.sender, msg.sender, 0, 0);
        TOKEN.burn(msg.sender, amount);
    }

    /// @inheritdoc IInferenceSettlement
    function activateFor(uint256 amount, address account) external {
        _raiseCredit(amount, account, msg.sender, 0, 0);
        TOKEN.burn(msg.sender, amount);
    }

    /// @inheritdoc IInferenceSettlement
    function activateMinted(uint256 amount, address account, address from) external {
        require(msg.sender == address(MINTER), OnlyMinter());
        _raiseCredit(amount, account, from, 0, 0);
    }

    /// @inheritdoc IInferenceSettlement
    function activateBridged(uint256 amount, address account, address from, uint32 srcEid, bytes32 guid) external {
        require(msg.sender == BRIDGE, OnlyBridge());
        _raiseCredit(amount, account, from, srcEid, guid);
    }

    /* SETTLE */

    /// @inheritdoc IInferenceSettlement
    function settle(uint32 day, bytes calldata data) external {
        require(msg.sender == settler, OnlySettler());
        uint256 paid = paidNanoUsd[day];
        uint256 left = Math.saturatingSub(ceilingOn(day), paid);
        Chunk memory chunk;
        chunk.servers = _readServers(data);
        uint256 head = ChunkCodec.HEAD_BYTES + ChunkCodec.AGENT_BYTES * chunk.servers.length;
        require(left != 0 || head == data.length, CeilingReached(day));

        bytes memory booked = ChunkCodec.allocate(data.length + ChunkCodec.SLACK);
        bytes memory leaves = ChunkCodec.allocate(32 * (data.length / ChunkCodec.RECORD_BYTES));
        (chunk.record, chunk.leaf) = (booked.start() + head, leaves.start());
        (chunk.preimage, chunk.left) = (ChunkCodec.allocate(ChunkCodec.MAX_LEAF_BYTES).start(), left);
        booked.putHead(data, head);
        _bookRecords(chunk, data.position() + head, data.position() + data.length);
        uint256 total = left - chunk.left;
        if (total == 0) return;

        bytes32 root = ChunkCodec.rootOf(leaves.start(), chunk.leaf);
        blockOf[root] = block.number;
        paidNanoUsd[day] = paid + total;
        totalDebitedNanoUsd += total.toUint96();
        owedProviderNanoUsd += (total - _bookServers(chunk.servers)).toUint128();
        booked.endAt(chunk.record);
        leaves.release();
        emit Settled(day, root, total, paid + total, totalDebitedNanoUsd, booked);
    }

    /* PAY */

    /// @inheritdoc IInferenceSettlement
    function payProvider() external {
        (uint256 amount, uint128 rest) = _wholeUnits(owedProviderNanoUsd);
        owedProviderNanoUsd = rest;
        _pay(Payee.Provider, address(0), provider, amount, rest);
    }

    /// @inheritdoc IInferenceSettlement
    function paySafe(address agent) external {
        (uint256 owed,) = owedAgentNanoUsd(agent);
        (uint256 amount, uint128 rest) = _wholeUnits(owed);
        _agents[agent].paidSafe += (owed - rest).toUint80();
        _pay(Payee.Safe, agent, REGISTRY.safeOf(agent), amount, rest);
    }

    /// @inheritdoc IInferenceSettlement
    function payTreasury(address agent) external {
        (, uint256 owed) = owedAgentNanoUsd(agent);
        (uint256 amount, uint128 rest) = _wholeUnits(owed);
        _agents[agent].paidTreasury += (owed - rest).toUint80();
        _pay(Payee.Treasury, agent, REGISTRY.treasuryOf(agent), amount, rest);
    }

    /// @inheritdoc IInferenceSettlement
    function payBack(address account) external {
        uint256 owed = owedBackNanoUsd(account);
        (uint256 amount, uint128 rest) = _wholeUnits(owed);
        _paidBack[account] += owed - rest;
        _bookPayment(amount);
        MINTER.mintBack(account, amount);
    }

    /* CEILING AND ROLES */

    /// @inheritdoc IInferenceSettlement
    function raiseCeiling(uint96 toNanoUsd) external onlyTimelock {
        uint96 current = ceilingNanoUsd;
        require(toNanoUsd > current, CeilingNotHigher(current, toNanoUsd));
        _setCeiling(current, toNanoUsd);
    }

    /// @inheritdoc IInferenceSettlement
    function lowerCeiling(uint96 toNanoUsd) external onlyGuardian {
        uint96 current = ceilingNanoUsd;
        require(toNanoUsd < current, CeilingNotLower(current, toNanoUsd));
        _setCeiling(current, toNanoUsd);
    }

    /// @inheritdoc IInferenceSettlement
    function revokeSettler() external onlyGuardian {
        _setSettler(address(0));
    }

    /// @inheritdoc IInferenceSettlement
    function setSettler(address newSettler) external onlyTimelock {
        _setSettler(newSettler);
    }

    /// @inheritdoc IInferenceSettlement
    function setGuardian(address newGuardian) external onlyTimelock {
        _setGuardian(newGuardian);
    }

    /// @inheritdoc IInferenceSettlement
    function setProvider(address newProvider) external onlyTimelock {
        _setProvider(newProvider);
    }

    /// @inheritdoc IInferenceSettlement
    function setReceiptKey(bytes32 newReceiptKey) external onlyTimelock {
        _setReceiptKey(newReceiptKey);
    }

    /* VIEWS */

    /// @inheritdoc IInferenceSettlement
    function ceilingToday() external view returns (uint256 day, uint256 leftNanoUsd, uint256 resetsAt) {
        day = block.timestamp / 1 days;
        leftNanoUsd = Math.saturatingSub(ceilingNanoUsd, paidNanoUsd[day]);
        resetsAt = (day + 1) * 1 days;
    }

    /// @inheritdoc IInferenceSettlement
    function ceilingOn(uint256 day) public view returns (uint256 nanoUsd) {
        uint256 today = block.timestamp / 1 days;
        bool isYesterdayInGrace = day == today - 1 && block.timestamp % 1 days < GRACE;
        require(day == today || isYesterdayInGrace, WrongDay(day, today));
        nanoUsd = ceilingNanoUsd;
        if (day != today && _ceilingDay == today) nanoUsd = Math.min(nanoUsd, _ceilingAtMidnight);
    }

    /// @inheritdoc IInferenceSettlement
    function accountOf(address account) public view returns (uint80, uint80, uint80) {
        uint256 totals = _accounts[account].totals;
        // Each total is 80 bits of the word.
        // forge-lint: disable-next-line(unsafe-typecast)
        return (uint80(totals >> 80), uint80(totals), uint80(totals >> 160));
    }

    /// @inheritdoc IInferenceSettlement
    function creditNanoUsd(address account) external view returns (uint256) {
        (uint80 activated, uint80 debited,) = accountOf(account);
        return activated - debited;
    }

    /// @inheritdoc IInferenceSettlement
    function totalCreditNanoUsd() public view returns (uint256) {
        return totalActivated * NANO_USD_PER_TOKEN_UNIT - totalDebitedNanoUsd;
    }

    /// @inheritdoc IInferenceSettlement
    function owedAgentNanoUsd(address agent) public view returns (uint256 safe, uint256 treasury) {
        Agent memory totals = _agents[agent];
        safe = _share(totals.served, SAFE_PERCENT) - totals.paidSafe;
        treasury = _share(totals.served, TREASURY_PERCENT) - totals.paidTreasury;
    }

    /// @inheritdoc IInferenceSettlement
    function owedBackNanoUsd(address account) public view returns (uint256) {
        (,, uint256 served) = accountOf(account);
        return _share(served, BACK_PERCENT) - _paidBack[account];
    }

    /// @inheritdoc IInferenceSettlement
    function totalOwedNanoUsd() public view returns (uint256) {
        return totalDebitedNanoUsd - _totalPaidNanoUsd;
    }

    /// @inheritdoc IInferenceSettlement
    function books() external view returns (Books memory) {
        return Books({
            backing: MINTER.backing() * NANO_USD_PER_TOKEN_UNIT,
            supply: TOKEN.totalSupply() * NANO_USD_PER_TOKEN_UNIT,
            credit: totalCreditNanoUsd(),
            owed: totalOwedNanoUsd(),
            lines: MINTER.lineSum() * NANO_USD_PER_TOKEN_UNIT
        });
    }

    /// @inheritdoc IInferenceSettlement
    function verify(
        Use calldata use,
        bytes32[] calldata useProof,
        Record calldata record,
        bytes32[] calldata recordProof
    ) external view returns (bool) {
        bool isOfStatement = MerkleProof.verifyCalldata(useProof, record.root, leafOf(use));
        bool isBooked = blockOf[MerkleProof.processProofCalldata(recordProof, _leafOf(record))] != 0;
        uint256 startsAt = Math.saturatingSub(use.endsAtNanoUsd, use.chargedNanoUsd);
        bool overlaps =
            startsAt < uint256(record.beforeNanoUsd) + record.amountNanoUsd && record.beforeNanoUsd < use.endsAtNanoUsd;
        return isOfStatement && isBooked && overlaps && use.account == record.account;
    }

    /// @inheritdoc IInferenceSettlement
    function leafOf(Use calldata use) public view returns (bytes32) {
        return keccak256(bytes.concat(keccak256(abi.encode(block.chainid, address(this), use))));
    }

    /* INTERNAL */

    /// @dev The only function that raises credit. Its caller guarantees the dollars: either tokens were burned, or
    /// backing was booked in the same transaction.
    function _raiseCredit(uint256 amount, address account, address from, uint32 srcEid, bytes32 guid) internal {
        require(amount != 0, ZeroAmount());
        require(account != address(0), ZeroAccount());

        uint256 amountNanoUsd = amount * NANO_USD_PER_TOKEN_UNIT;
        (uint80 activated,,) = accountOf(account);
        activated += amountNanoUsd.toUint80();
        _accounts[account].totals += amountNanoUsd << 80;
        (activationCount, totalActivated) = (activationCount + 1, totalActivated + amount.toUint96());
        emit Activated(activationCount, account, from, amount, totalActivated, activated, srcEid, guid);
    }

    /// @dev Reads the table of agents and the capacity left of each.
    function _readServers(bytes calldata data) internal view returns (Server[] memory servers) {
        uint256 from = data.position();
        uint256 end = from + data.length;
        require(data.length >= ChunkCodec.HEAD_BYTES, MalformedData(from));
        servers = new Server[](uint8(data[0]));
        from += ChunkCodec.HEAD_BYTES;
        uint256 today = block.timestamp / 1 days;
        bytes22 previous;
        for (uint256 i; i < servers.length; ++i) {
            bytes22 current = ChunkCodec.agentAt(from);
            require(from + ChunkCodec.AGENT_BYTES <= end && current > previous, MalformedData(from));
            // The first 20 of the 22 bytes, and the last 2.
            // forge-lint: disable-next-line(unsafe-typecast)
            (address agent, uint16 day) = (address(bytes20(current)), uint16(uint176(current)));
            require(day <= today, WrongDay(day, today));
            // A chain without agents has no registry.
            bool isAgent = address(REGISTRY).code.length != 0 && REGISTRY.isAgent(agent);
            uint256 capacity = isAgent ? POOL.capacityOn(agent, day) : 0;
            servers[i] = Server(agent, day, Math.saturatingSub(capacity, servedNanoUsd[agent][day]), 0);
            (previous, from) = (current, from + ChunkCodec.AGENT_BYTES);
        }
    }

    /// @dev Books the records between two positions in the call data.
    function _bookRecords(Chunk memory chunk, uint256 from, uint256 end) internal {
        uint256 left = chunk.left;
        // No sum overflows: positions are below the length of the call data, and amounts have at most 80 bits.
        unchecked {
            while (from < end) {
                (address account, uint256 before, uint256 asked, uint256 parts) = ChunkCodec.recordAt(from);
                uint256 next = from + ChunkCodec.RECORD_BYTES + ChunkCodec.PART_BYTES * parts;
                require(next <= end, MalformedData(from));

                Account storage slot = _accounts[account];
                uint256 totals = slot.totals;
                uint256 amount;
                if (before == totals & type(uint80).max) {
                    amount = (totals >> 80 & type(uint80).max) - before;
                    if (asked < amount) amount = asked;
                    if (left < amount) amount = left;
                }
                if (parts != 0) {
                    uint256 served;
                    (parts, served) = _payParts(chunk, from + ChunkCodec.RECORD_BYTES, next, asked, amount);
                    totals += served << 160;
                }
                if (amount != 0) {
                    slot.totals = totals + amount;
                    left -= amount;
                    ChunkCodec.putRecord(chunk.record, chunk.leaf, from, amount, parts);
                    if (parts != 0) ChunkCodec.putLeaf(chunk.leaf, chunk.preimage, chunk.record, parts);
                    chunk.leaf += 32;
                    chunk.record += ChunkCodec.RECORD_BYTES + ChunkCodec.PART_BYTES * parts;
                }
                from = next;
            }
        }
        chunk.left = left;
    }

    /// @dev Pays the parts between two positions in the call data, at most `asked` together, in order out of `rest`, and
    /// writes those that were paid. Returns their number and the sum that agents served.
    function _payParts(Chunk memory chunk, uint256 from, uint256 end, uint256 asked, uint256 rest)
        internal
        pure
        returns (uint256 count, uint256 served)
    {
        for (; from < end; from += ChunkCodec.PART_BYTES) {
            (uint256 index, uint256 amount) = ChunkCodec.partAt(from);
            require(index < chunk.servers.length, MalformedData(from));
            require(amount <= asked, PartsAboveAmount(from));
            asked -= amount;
            amount = Math.min(amount, rest);
            rest -= amount;
            Server memory server = chunk.servers[index];
            amount = Math.min(amount, server.left);
            if (amount == 0) continue;
            server.left -= amount;
            server.served += amount;
            served += amount;
            ChunkCodec.putPart(chunk.record, count, index, amount);
            ChunkCodec.putLeafPart(chunk.preimage, count, server.agent, server.day, amount);
            ++count;
        }
    }

    /// @dev Adds what agents served in a chunk to their totals. Returns the sum.
    function _bookServers(Server[] memory servers) internal returns (uint256 sum) {
        for (uint256 i; i < servers.length; ++i) {
            Server memory server = servers[i];
            if (server.served == 0) continue;
            sum += server.served;
            servedNanoUsd[server.agent][server.day] += server.served;
            _agents[server.agent].served += server.served.toUint80();
        }
    }

    /// @dev The leaf of a booked record in the tree of its chunk. The length of its preimage tells the number of parts.
    function _leafOf(Record calldata record) internal pure returns (bytes32) {
        bytes memory packed = abi.encodePacked(
            record.account, record.beforeNanoUsd, record.amountNanoUsd, record.root, uint8(record.parts.length)
        );
        for (uint256 i; i < record.parts.length; ++i) {
            Part calldata part = record.parts[i];
            packed = bytes.concat(packed, abi.encodePacked(part.agent, part.day, part.amountNanoUsd));
        }
        return keccak256(packed);
    }

    /// @dev Pays `amount` token units that were owed; `rest` nano-dollars remain owed.
    function _pay(Payee payee, address agent, address to, uint256 amount, uint256 rest) internal {
        _bookPayment(amount);
        emit Paid(payee, agent, to, amount, rest);
        MINTER.payOut(to, amount);
    }

    /// @dev Books a payment of `amount` token units.
    function _bookPayment(uint256 amount) internal {
        require(amount != 0, NothingOwed());
        _totalPaidNanoUsd += (amount * NANO_USD_PER_TOKEN_UNIT).toUint128();
    }

    /// @dev Shares are functions of totals, so that rounding neither loses nor makes anything over many chunks.
    function _share(uint256 totalNanoUsd, uint256 percent) internal pure returns (uint256) {
        return totalNanoUsd * percent / 100;
    }

    /// @dev Dollars and tokens can only be moved in whole token units. The remainder stays owed.
    function _wholeUnits(uint256 nanoUsd) internal pure returns (uint256 units, uint128 rest) {
        return (nanoUsd / NANO_USD_PER_TOKEN_UNIT, (nanoUsd % NANO_USD_PER_TOKEN_UNIT).toUint128());
    }

    /// @dev The first change of a day keeps the ceiling with which the day before ended.
    function _setCeiling(uint96 current, uint96 toNanoUsd) internal {
        uint64 today = uint64(block.timestamp / 1 days);
        if (_ceilingDay != today) (_ceilingDay, _ceilingAtMidnight) = (today, current);
        ceilingNanoUsd = toNanoUsd;
        emit CeilingChanged(current, toNanoUsd);
    }

    function _setSettler(address newSettler) internal {
        emit SettlerChanged(settler, newSettler);
        settler = newSettler;
    }

    function _setGuardian(address newGuardian) internal {
        emit GuardianChanged(guardian, newGuardian);
        guardian = newGuardian;
    }

    function _setProvider(address newProvider) internal {
        emit ProviderChanged(provider, newProvider);
        provider = newProvider;
    }

    function _setReceiptKey(bytes32 newReceiptKey) internal {
        emit ReceiptKeyChanged(receiptKey, newReceiptKey);
        receiptKey = newReceiptKey;
    }
}
