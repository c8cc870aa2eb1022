import { spawn } from "node:child_process";

/** Runs a program that is not ours, `leash.ts <command> <args>`, so that it ends with us: see `tether.ts`. */
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
