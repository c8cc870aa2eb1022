import { type ApiKey, changeKey, revokeKey } from "@inference/sdk/keys";
import { Ban, Check, Ellipsis, Gauge, RotateCw, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { useKeys, useTotals } from "../account.ts";
import { count, day, placesOf } from "../format.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Menu } from "../parts/menu.tsx";
import { Table } from "../parts/table.tsx";
import { Amount, Button, Card, Empty, Failure, Meter, Read } from "../parts.tsx";
import { useRoute } from "../route.ts";
import { useChange } from "../wallet/session.ts";
import type { SignedIn } from "../wallet/wallet.ts";
import { ChangeLimit } from "./change-limit.tsx";
import { isExpired, limitWords } from "./key-limit.tsx";
import { moreTermsWords } from "./more-terms.tsx";
import { RollKey } from "./roll-key.tsx";

type Opened = { what: "limit" | "roll" | "delete"; key: ApiKey };

/** What each key may still spend. */
export function KeyTable({ wallet }: { wallet: SignedIn }): ReactNode {
  const { query } = useRoute();
  const [search, setSearch] = useState(query.get("find") ?? "");
  const [opened, open] = useState<Opened>();
  const keys = useKeys(wallet);
  const uses = useUses(wallet);
  const close = (): void => open(undefined);
  const wanted = search.trim().toLowerCase();
  const isFound = ({ name, label }: ApiKey): boolean => `${name} ${label}`.toLowerCase().includes(wanted);
  return (
    <>
      <Read from={keys} what="keys" height={260}>
        {(all) =>
          all.length === 0 ? (
            <Card title="No keys yet">
              <Empty action={<Link href="/keys/new">Create key</Link>}>
                A key lets one program spend your balance, up to its own limit.
              </Empty>
            </Card>
          ) : (
            <>
              {all.length < 6 && wanted === "" ? null : (
                <div className="row apart">
                  <input
                    type="search"
                    className="find"
                    aria-label="Find by name or prefix"
                    placeholder="Find by name or prefix"
                    value={search}
                    onChange={({ target }) => setSearch(target.value)}
                  />
                  <span className="hint">Limits reset at 00:00 UTC</span>
                </div>
              )}
              <Rows {...{ wallet, uses, open }} keys={all.filter(isFound)} />
            </>
          )
        }
      </Read>
      {opened === undefined ? null : (
        <Dialog
          className={opened.what === "roll" ? "wide" : ""}
          title={`${TITLES[opened.what]} ${nameOf(opened.key)}`}
          close={close}
        >
          {opened.what === "limit" ? <ChangeLimit wallet={wallet} apiKey={opened.key} done={close} /> : null}
          {opened.what === "roll" ? <RollKey wallet={wallet} apiKey={opened.key} done={close} /> : null}
          {opened.what === "delete" ? <Delete wallet={wallet} apiKey={opened.key} done={close} /> : null}
        </Dialog>
      )}
    </>
  );
}

const TITLES: Readonly<Record<Opened["what"], string>> = {
  limit: "Edit the limit of",
  roll: "Rotate",
  delete: "Delete",
};

const nameOf = ({ name, label }: ApiKey): string => name || label;

type Uses = ReadonlyMap<string, { requests: number; last: string }>;

/** The requests of each key in the last 30 days, and the day of the last one. */
function useUses(wallet: SignedIn): Uses | undefined {
  const { data } = useTotals(wallet, {});
  if (data === undefined) return undefined;
  const uses = new Map<string, { requests: number; last: string }>();
  for (const { key_id: id, date = "", requests } of data) {
    if (id == null) continue;
    const { requests: before, last } = uses.get(id) ?? { requests: 0, last: "" };
    uses.set(id, { requests: before + requests, last: date > last ? date : last });
  }
  return uses;
}

function Rows({ wallet, keys, uses, open }: RowsParts): ReactNode {
  const places = placesOf(keys.map(({ limit_remaining_nano_usd: left }) => left ?? 0));
  if (keys.length === 0) return <Empty>No key has this in its name or prefix.</Empty>;
  return (
    <div className="card flush">
      <Table
        label="Keys"
        asCards
        rows={keys}
        keyOf={({ id }) => id}
        rowClass={(key) => (key.disabled || isExpired(key) ? "dimmed" : undefined)}
        columns={[
          {
            title: "Name",
            kind: "name",
            className: "card-first",
            cell: (key) => (
              <>
                <span className="wrap">{key.name || "Without a name"}</span>
                <Terms apiKey={key} />
              </>
            ),
          },
          { title: "Key", className: "mono", inCard: "hidden", cell: ({ label }) => label },
          {
            title: "Spend and limit",
            className: "limit",
            inCard: "whole",
            cell: (key) => <SpendAndLimit apiKey={key} />,
          },
          { title: "Left", amount: ({ limit_remaining_nano_usd: left }) => left, places, inCard: "hidden" },
          {
            title: "Requests, 30 d",
            kind: "number",
            inCard: "hidden",
            cell: ({ id }) => (uses === undefined ? "" : count(uses.get(id)?.requests ?? 0)),
          },
          {
            title: "Last used",
            className: "quiet whole",
            inCard: "titled",
            cell: ({ id }) => {
              const last = uses?.get(id)?.last;
              return last === undefined ? (uses === undefined ? "" : "not in 30 days") : day(last);
            },
          },
          { title: "Status", className: "state-cell", cell: (key) => <State apiKey={key} /> },
          {
            title: "Actions",
            className: "actions card-first",
            cell: (key) => <Actions wallet={wallet} apiKey={key} open={(what) => open({ what, key })} />,
          },
        ]}
      />
    </div>
  );
}
type RowsParts = { wallet: SignedIn; keys: ApiKey[]; uses: Uses | undefined; open: (opened: Opened) => void };

/** The terms of a key beside its limit, in one line. */
function Terms({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const more = moreTermsWords(apiKey);
  const ends = apiKey.expires_at === null || isExpired(apiKey) ? "" : `expires ${day(apiKey.expires_at)}`;
  const words = [more, ends].filter(Boolean).join("; ");
  return words === "" ? null : <span className="hint plain-weight wrap below">{words}</span>;
}

function SpendAndLimit({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const { limit_nano_usd: limit, usage_nano_usd: used, reserved_nano_usd: held } = apiKey;
  return (
    <div className="stack tight">
      <div className="row apart small">
        <Amount nanoUsd={used} />
        <span className="hint">{limit === null ? "no limit" : `of ${limitWords(apiKey)}`}</span>
      </div>
      {limit === null ? null : <Meter used={used + held} whole={limit} />}
    </div>
  );
}

function State({ apiKey }: { apiKey: ApiKey }): ReactNode {
  if (isExpired(apiKey)) return <span className="state">Expired</span>;
  if (apiKey.disabled) return <span className="state">Disabled</span>;
  if (apiKey.limit_remaining_nano_usd === 0) return <span className="state bad">Limit reached</span>;
  return <span className="state good">Active</span>;
}

function Actions({ wallet, apiKey, open }: ActionsParts): ReactNode {
  const toggle = useChange(wallet, (reading) => changeKey(reading, apiKey.id, { disabled: !apiKey.disabled }));
  return (
    <>
      <Menu
        button={
          <button type="button" className="icon little" aria-label={`Actions for ${nameOf(apiKey)}`}>
            <Ellipsis />
          </button>
        }
        entries={[
          { text: "Edit limit", icon: <Gauge />, act: () => open("limit") },
          { text: "Rotate", icon: <RotateCw />, act: () => open("roll") },
          apiKey.disabled
            ? { text: "Enable", icon: <Check />, act: () => toggle.mutate() }
            : { text: "Disable", icon: <Ban />, act: () => toggle.mutate() },
          null,
          { text: "Delete", icon: <Trash2 />, isDanger: true, act: () => open("delete") },
        ]}
      />
      <Failure error={toggle.error} />
    </>
  );
}
type ActionsParts = { wallet: SignedIn; apiKey: ApiKey; open: (what: Opened["what"]) => void };

function Delete({ wallet, apiKey, done }: { wallet: SignedIn; apiKey: ApiKey; done: () => void }): ReactNode {
  const revoke = useChange(wallet, (reading) => revokeKey(reading, apiKey.id), done);
  return (
    <>
      <p>Programs with this key are refused at once, and for good. Its receipts stay.</p>
      <div className="row">
        <Button text="Delete this key" className="danger" disabled={revoke.isPending} act={() => revoke.mutate()} />
        <Button text="Keep it" act={done} />
      </div>
      <Failure error={revoke.error} />
    </>
  );
}
