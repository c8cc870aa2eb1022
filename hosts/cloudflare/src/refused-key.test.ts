import { testRefusedKey } from "@inference/gateway/test/settlement/refused-key";
import { startEdgeHost } from "./testing/edge-host.ts";

testRefusedKey(startEdgeHost);
