import { testLargeBodies } from "@inference/gateway/test/settlement/large-bodies";
import { startStack } from "./testing/stack.ts";

testLargeBodies(startStack);
