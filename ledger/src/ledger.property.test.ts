import { testLaws } from "./testing/laws.ts";
import { openMemoryHost } from "./testing/memory-host.ts";

testLaws(openMemoryHost, { numRuns: process.env.DEEP === "1" ? 5_000 : 75, numRepeats: 5 });
