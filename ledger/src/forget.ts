import { requestIdTime } from "@inference/protocol/id";
import type { Commands, ReplyOf } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { isUnresolved } from "./hold.ts";
import { OUTCOME_RETENTION_MS } from "./limits.ts";

type Forget = Commands["forget"]["command"];

/** Removes rows whose time is over: resolved holds after 48 h, nonces and sessions once nothing could use them. */
export function forget(draft: Draft, command: Forget): ReplyOf<Forget> {
  let forgotten = 0;
  for (const id of command.ids) {
    if (!isOver(draft, command, id)) continue;
    draft.remove(command.table, id);
    forgotten += 1;
  }
  return { forgotten };
}

function isOver(draft: Draft, { table, at }: Forget, id: string): boolean {
  if (table === "hold") {
    const hold = draft.get("hold", id);
    const madeAt = requestIdTime(id) ?? hold?.admittedAt ?? at;
    return hold !== undefined && !isUnresolved(hold) && madeAt + OUTCOME_RETENTION_MS < at;
  }
  const row = draft.get(table, id);
  return row !== undefined && row.expiresAt + OUTCOME_RETENTION_MS < at;
}
