import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type MortalHost, testKills } from "@inference/gateway/test/chaos/kills";
import { openDatabase } from "../database.ts";
import { withBooks } from "./books.ts";
import { gatewayUrl, launch } from "./processes.ts";

testKills(openHost, 1);

/** At its start it knows by itself that whatever is held is nobody's. */
function openHost(): MortalHost {
  const folder = mkdtempSync(join(tmpdir(), "chaos-"));
  const file = join(folder, "gateway.sqlite");
  return {
    launch(settings) {
      const env = { ...settings, BASE_URL: "http://gateway.test", PORT: "0", DATABASE_FILE: file };
      const victim = launch({ script: "./victim.ts", env });
      const url = victim.ready.then(gatewayUrl);
      // A gateway that is killed during its start never listens.
      url.catch(() => undefined);
      return { url, said: victim.stderr, kill: async () => (await victim.kill()).signal === "SIGKILL" };
    },
    withBooks: (_, work) => withBooks(file, work),
    chargedLater: ["stream"],
    readBooks() {
      // SQLite recovers the WAL of the dead one, as for the next one.
      openDatabase(file).close();
      return new DatabaseSync(file, { readOnly: true });
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}
