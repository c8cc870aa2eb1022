import { testLargeBodies } from "@inference/gateway/inference/testing/large-bodies";
import { startEdgeHost } from "./testing/edge-host.ts";

testLargeBodies(startEdgeHost);
