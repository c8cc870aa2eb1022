import { testLargeBodies } from "@inference/gateway/test/settlement/large-bodies";
import { startEdgeHost } from "./testing/edge-host.ts";

testLargeBodies(startEdgeHost);
