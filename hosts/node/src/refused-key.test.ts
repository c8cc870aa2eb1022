import { testRefusedKey } from "@inference/gateway/test/settlement/refused-key";
import { startStack } from "./testing/stack.ts";

testRefusedKey(startStack);
