import { testLaws } from "./testing/laws.ts";
import { openMemoryHost } from "./testing/memory-host.ts";

testLaws(openMemoryHost, { numRuns: process.env.DEEP === undefined ? 500 : 5_000, numRepeats: 20 });
