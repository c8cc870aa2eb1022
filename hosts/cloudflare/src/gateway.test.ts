import { after } from "node:test";
import { buildDashboard } from "@inference/dashboard/build/build";
import { testGateway, testHostBehaviour } from "@inference/gateway/test/suites/all";
import { startEdgeHost, stopEdgeHost } from "./testing/edge-host.ts";

await buildDashboard();
after(stopEdgeHost);
const test = process.env.DEEP === "1" ? testGateway : testHostBehaviour;
test(startEdgeHost);
