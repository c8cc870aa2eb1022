import { testRefusedKey } from "@inference/gateway/inference/testing/refused-key";
import { startStack } from "./testing/stack.ts";

testRefusedKey(startStack);
