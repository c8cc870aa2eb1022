import { testLargeBodies } from "@inference/gateway/inference/testing/large-bodies";
import { startStack } from "./testing/stack.ts";

testLargeBodies(startStack);
