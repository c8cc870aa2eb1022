import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { endpoints } from "../routes/all.ts";
import { endpointCode } from "./endpoint-code.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const tsc = join(root, "node_modules/.bin/tsc");

/** The hosts' tests run the examples. Their types are checked here, against the packages that they import. */
test("the programs of docs/examples have right types", async () => {
  await promisify(execFile)(tsc, ["-p", join(root, "docs/examples"), "--checkers", "1"]);
});

test("the code of every endpoint has right types in TypeScript, right syntax in Python and in the shell", async () => {
  const folder = mkdtempSync(join(tmpdir(), "endpoint-code-"));
  const settings = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: { noEmit: true, moduleDetection: "force", typeRoots: [join(root, "node_modules/@types")] },
    include: ["*.ts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const extensions = { curl: "sh", Python: "py", TypeScript: "ts" } as const;
  const files = endpoints.flatMap((operation) =>
    endpointCode(operation, { baseUrl: "https://gateway.example", model: "some-model" }).map(({ name, code }) => {
      const file = join(folder, `${operation.id}.${extensions[name as keyof typeof extensions]}`);
      writeFileSync(file, `${code}\n`);
      return file;
    }),
  );
  const run = promisify(execFile);
  await run(tsc, ["-p", folder, "--checkers", "1"]);
  for (const file of files.filter((each) => each.endsWith(".sh"))) await run("sh", ["-n", file]);
  const python = files.filter((each) => each.endsWith(".py"));
  const compile = "import ast, sys\nfor file in sys.argv[1:]: ast.parse(open(file).read(), file)";
  await run("python3", ["-c", compile, ...python]);
  rmSync(folder, { recursive: true });
});
