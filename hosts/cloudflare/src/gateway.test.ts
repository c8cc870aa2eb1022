import { after } from "node:test";
import { buildDashboard } from "@inference/dashboard/build/build";
import { testGateway } from "@inference/gateway/test/suites/all";
import { startEdgeHost, stopEdgeHost } from "./testing/edge-host.ts";

await buildDashboard();
after(stopEdgeHost);
testGateway(startEdgeHost);
