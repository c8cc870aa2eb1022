import { testRefusedKey } from "@inference/gateway/inference/testing/refused-key";
import { startEdgeHost } from "./testing/edge-host.ts";

testRefusedKey(startEdgeHost);
