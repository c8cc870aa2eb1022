import { spawn } from "node:child_process";

/** `run-program.ts <command> <args>` runs a program that is not ours, so that it ends with the devnet. */
const [command = "", ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit"] });
process.on("exit", () => child.kill("SIGKILL"));
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  process.stderr.write(`${command} did not start: ${error.message}\n`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal !== null) process.stderr.write(`killed by ${signal}\n`);
  process.exit(code ?? 1);
});
