import { after } from "node:test";
import { testGateway } from "@inference/gateway/test/suites/all";
import { startEdgeHost, stopEdgeHost } from "./testing/edge-host.ts";

after(stopEdgeHost);
testGateway(startEdgeHost);
