import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePerf, parseStrace } from "./fsyncs.ts";

test("perf's two counters are added, and a counter it could not open is none", () => {
  const output =
    "8265,,syscalls:sys_enter_fsync,934730810,100.00,,\n3,,syscalls:sys_enter_fdatasync,934730810,100.00,,\n";
  assert.equal(parsePerf(output), 8268);
  assert.equal(parsePerf("0,,syscalls:sys_enter_fsync,1,100.00,,"), 0);
  assert.equal(parsePerf("<not counted>,,syscalls:sys_enter_fsync,0,100.00,,"), undefined);
  assert.equal(parsePerf("event syntax error"), undefined);
});

test("strace's table is read with and without errors, and its total is not added", () => {
  const output = `strace: Process 12 attached with 3 threads
strace: Process 12 detached
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 90.00    0.071480          64      1110           fsync
 10.00    0.000100           5        20         2 fdatasync
------ ----------- ----------- --------- --------- ----------------
100.00    0.071580          64      1130         2 total`;
  assert.equal(parseStrace(output), 1130);
  assert.equal(parseStrace("strace: Process 12 attached\nstrace: Process 12 detached"), 0);
  assert.equal(parseStrace("strace: attach: ptrace(PTRACE_SEIZE, 12): Operation not permitted"), undefined);
});
