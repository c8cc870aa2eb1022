import { Command } from "cmdk";
import { KeyRound, Layers, Receipt } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useKeys } from "../account.ts";
import { useModels } from "../gateway.ts";
import { pathTo } from "../route.ts";
import { type Session, useSession } from "../wallet/session.ts";
import { places } from "./places.ts";

/** Pages, models, keys, and receipts by their id. */
export default function CommandMenu({ close }: { close: () => void }): ReactNode {
  const [, go] = useLocation();
  const [text, setText] = useState("");
  const session = useSession();
  const models = useModels();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const jump = (path: string): void => {
    close();
    go(path);
  };
  const id = text.trim();
  return (
    <dialog
      ref={dialog}
      className="commands wide"
      aria-label="Search or jump to"
      onClose={close}
      {...{ closedby: "any" }}
    >
      <Command label="Search or jump to">
        <Command.Input
          placeholder="A page, a model, a key, or a receipt's id"
          value={text}
          onValueChange={setText}
          autoFocus
        />
        <Command.List>
          <Command.Empty>Nothing is named so.</Command.Empty>
          {/^req_\w+$/.test(id) ? (
            <Command.Item value={id} onSelect={() => jump(pathTo("activity", id))}>
              <Receipt />
              Receipt {id}
            </Command.Item>
          ) : null}
          <Command.Group heading="Pages">
            {places.map(({ name, title, Icon }) => (
              <Command.Item key={name} value={`page ${title}`} onSelect={() => jump(`/${name}`)}>
                <Icon />
                {title}
              </Command.Item>
            ))}
          </Command.Group>
          {session === null ? null : <Keys session={session} jump={jump} />}
          {models.data === undefined || models.data.length === 0 ? null : (
            <Command.Group heading="Models">
              {models.data.map(({ id, display_name: name }) => (
                <Command.Item key={id} value={`model ${id} ${name}`} onSelect={() => jump(pathTo("models", id))}>
                  <Layers />
                  {name} <span className="hint mono">{id}</span>
                </Command.Item>
              ))}
            </Command.Group>
          )}
        </Command.List>
      </Command>
    </dialog>
  );
}

function Keys({ session, jump }: { session: Session; jump: (path: string) => void }): ReactNode {
  const { data } = useKeys(session);
  if (data === undefined || data.length === 0) return null;
  return (
    <Command.Group heading="Keys">
      {data.map(({ id, name, label }) => (
        <Command.Item
          key={id}
          value={`key ${name} ${label} ${id}`}
          onSelect={() => jump(pathTo("keys", "", { find: name || label }))}
        >
          <KeyRound />
          {name || "Without a name"} <span className="hint mono">{label}</span>
        </Command.Item>
      ))}
    </Command.Group>
  );
}
