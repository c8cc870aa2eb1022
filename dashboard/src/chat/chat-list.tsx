import { DAY_MS } from "@inference/protocol/window";
import { Lock, SquarePen, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Dialog } from "../parts/dialog.tsx";
import { Button, Note } from "../parts.tsx";
import type { Chat } from "./chats.ts";

type ChatListParts = {
  list: readonly Chat[];
  problem: string | null;
  shown: string | undefined;
  open: (id: string | undefined) => void;
  remove: (id: string) => void;
};

/** The chats of this browser, the newest first. */
export function ChatList({ list, problem, shown, open, remove }: ChatListParts): ReactNode {
  const [asked, setAsked] = useState<Chat>();
  const groups = Map.groupBy(list, ({ updatedAtMs }) => groupOf(updatedAtMs));
  return (
    <>
      <Button icon={SquarePen} text="New chat" act={() => open(undefined)} />
      {problem === null ? null : <Note kind="warn">{problem}</Note>}
      <nav aria-label="Chats" className="chat-names">
        {[...groups].map(([title, chats]) => (
          <div key={title}>
            <h2 className="hint">{title}</h2>
            <ul>
              {chats.map((chat) => (
                <li key={chat.id} className={chat.id === shown ? "shown" : undefined}>
                  <button
                    type="button"
                    className="name"
                    aria-current={chat.id === shown ? "true" : undefined}
                    onClick={() => open(chat.id)}
                  >
                    <span>{chat.title}</span>
                  </button>
                  <Button icon={Trash2} label={`Delete ${chat.title}`} act={() => setAsked(chat)} />
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <p className="hint kept">
        <Lock />
        Chats stay in this browser. The service keeps counts and charges.
      </p>
      {asked === undefined ? null : (
        <Dialog title="Delete this chat?" close={() => setAsked(undefined)}>
          <p>“{asked.title}” is deleted from this browser. Its receipts stay in Activity.</p>
          <div className="row">
            <Button
              text="Delete"
              className="danger"
              act={() => {
                remove(asked.id);
                setAsked(undefined);
              }}
            />
            <Button text="Cancel" act={() => setAsked(undefined)} />
          </div>
        </Dialog>
      )}
    </>
  );
}

function groupOf(timeMs: number): string {
  const startMs = new Date().setHours(0, 0, 0, 0);
  if (timeMs >= startMs) return "Today";
  return timeMs >= startMs - 7 * DAY_MS ? "Last 7 days" : "Older";
}
