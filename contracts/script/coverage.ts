/** Prints how much of src/ the Solidity tests cover. */
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runForge } from "./forge.ts";

const cache = fileURLToPath(new URL("../cache/", import.meta.url));

// forge's coverage reads only files below its folder; npm installs the packages above it.
mkdirSync(cache, { recursive: true });
if (!existsSync(`${cache}lib`)) symlinkSync("../../node_modules", `${cache}lib`);

process.env.FOUNDRY_PROFILE = "coverage";
const args = ["--no-match-contract", "GasTest", "--no-match-coverage", "^(test|cache)/", "--report", "summary"];
process.exitCode = runForge(["coverage", ...args]);
