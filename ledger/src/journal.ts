import { assertNanoUsd } from "@inference/protocol/money";
import { counterOf } from "./budget.ts";
import type { Commands, ReplyOf } from "./commands.ts";
import type { Draft } from "./draft.ts";

type Journal = Commands["journal"]["command"];

/** Writes a use into the journal of its day, once. */
export function journal(draft: Draft, command: Journal): ReplyOf<Journal> {
  const existing = draft.get("use", command.id);
  if (existing !== undefined) {
    if (existing.chargeNanoUsd === command.chargeNanoUsd && existing.account === command.account) {
      return { status: "journalled" };
    }
    draft.alert(`use ${command.id} is ${existing.chargeNanoUsd}, and came again as ${command.chargeNanoUsd}`);
    return { status: "conflict" };
  }
  const { id, account, chargeNanoUsd, admittedAt, server } = command;
  draft.put("use", { id, account, chargeNanoUsd, admittedAt, server });
  const total = counterOf(draft, "uses@0");
  draft.put("counter", {
    ...total,
    settledNanoUsd: assertNanoUsd(total.settledNanoUsd + chargeNanoUsd, "a journal's total"),
  });
  return { status: "journalled" };
}
