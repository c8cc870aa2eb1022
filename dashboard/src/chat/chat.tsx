import { RefusedError } from "@inference/sdk/errors";
import { MessagesSquare, PanelRight, SlidersHorizontal, SquarePen } from "lucide-react";
import { lazy, type ReactNode, useState } from "react";
import { navigate } from "wouter/use-browser-location";
import { usd } from "../format.ts";
import { type Model, textModels, useModels } from "../gateway.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Button, Head, Note, Read } from "../parts.tsx";
import { pathTo, useRoute } from "../route.ts";
import { WithWallets } from "../wallet/account-gate.tsx";
import { type Session, useSession } from "../wallet/session.ts";
import { type ChatKey, keepChatKey, useChatKey, useOwnKey } from "./chat-key.ts";
import { ChatList } from "./chat-list.tsx";
import { type Chat, type ChatSettings, titleOf, useChats } from "./chats.ts";
import { Composer } from "./composer.tsx";
import { Messages } from "./messages.tsx";
import { Rail, type RailTab } from "./rail.tsx";
import { bodyOf, mostReserved } from "./request.ts";
import { type Draft, questionOf, useAsking, useUnknownCharges } from "./use-asking.ts";

const MakeKey = lazy(() => import("./make-key.tsx"));

/** A chat with a key of the page's own. Its settings, code and cost are beside it. */
export default function ChatPage(): ReactNode {
  const session = useSession();
  if (session === null) {
    return (
      <>
        <Head title="Chat">Ask any text model, and see what each answer cost.</Head>
        <WithWallets>
          <MakeKey />
        </WithWallets>
      </>
    );
  }
  return <Room key={session.address} session={session} />;
}

const DEFAULT_OUTPUT = 4_096;
const NO_DRAFT: Draft = { text: "", images: [] };

function Room({ session }: { session: Session }): ReactNode {
  const models = useModels();
  return (
    <Read from={models} what="models" height={520}>
      {(list) => {
        const { texts, first } = textModels(list);
        if (first === undefined) return <Note>This service has no text model now.</Note>;
        return <Talk {...{ session, texts, first }} />;
      }}
    </Read>
  );
}

function Talk({ session, texts, first }: { session: Session; texts: readonly Model[]; first: Model }): ReactNode {
  const { query } = useRoute();
  const key = useChatKey(session.address);
  const chats = useChats(session.address);
  const asking = useAsking(chats, key);
  const [fresh, setFresh] = useState<ChatSettings>({
    ...{ model: query.get("model") ?? localStorage.getItem("chat-model") ?? "", system: "", temperature: "" },
    maxTokens: DEFAULT_OUTPUT,
  });
  const [draft, setDraft] = useState(NO_DRAFT);
  const [tab, setTab] = useState<RailTab>("settings");
  const [isRail, setRail] = useState(true);
  const [sheet, setSheet] = useState<"chats" | "rail" | null>(null);
  const chat = chats.list?.find(({ id }) => id === query.get("chat"));
  useUnknownCharges(chats, chat, key);
  const settings = chat ?? fresh;
  const model = texts.find(({ id }) => id === settings.model) ?? first;
  const limited = {
    ...settings,
    model: model.id,
    maxTokens: Math.min(settings.maxTokens, model.max_tokens ?? Infinity),
  };
  const isRunning = asking.running !== null;

  const open = (id: string | undefined): void => {
    navigate(pathTo("chat", "", id === undefined ? {} : { chat: id }), { replace: id === undefined });
    asking.clearRefusal();
    setSheet(null);
  };
  const change = (changed: Partial<ChatSettings>): void => {
    if (changed.model !== undefined) localStorage.setItem("chat-model", changed.model);
    setFresh({ ...fresh, ...changed });
    if (chat !== undefined) chats.put({ ...chat, ...changed });
  };
  /** Asks, and puts the draft back if the gateway refuses. */
  const ask = async (next: Chat, before: Chat | undefined, sent: Draft): Promise<void> => {
    setDraft(NO_DRAFT);
    if (before === undefined) open(next.id);
    if (!(await asking.ask(next, before))) setDraft(sent);
  };
  const send = (): void => {
    const question = questionOf(draft);
    const next: Chat = chat ?? {
      ...{ ...limited, id: crypto.randomUUID(), title: titleOf(draft.text), updatedAtMs: Date.now() },
      ...{ messages: [], replaced: [] },
    };
    void ask({ ...next, ...pick(limited), messages: [...next.messages, question] }, chat, draft);
  };
  /** Asks again from a message on. Answers after it stay in the chat's cost. */
  const askFrom = (index: number, text?: string): void => {
    if (chat === undefined) return;
    const question = chat.messages[index];
    if (question?.role !== "user") return;
    const later = chat.messages.slice(index + 1).flatMap((each) => (each.role === "assistant" ? [each] : []));
    const messages = [...chat.messages.slice(0, index), { ...question, text: text ?? question.text }];
    void ask({ ...chat, ...pick(limited), messages, replaced: [...chat.replaced, ...later] }, chat, draft);
  };

  const mayAsk = !isRunning && key !== null;
  const shown = chat?.messages ?? [];
  const askEdited = (id: string, text: string): void => {
    const index = shown.findIndex((each) => each.id === id);
    askFrom(index, text);
  };
  const isDrafted = draft.text !== "" || draft.images.length > 0;
  const lastQuestion = shown.findLastIndex(({ role }) => role === "user");
  const body = bodyOf(limited, isDrafted || shown.length === 0 ? [...shown, questionOf(draft)] : shown);
  // Before the next message is written, the code is that of the last answer's request.
  const coded = isDrafted ? body : bodyOf(limited, shown.slice(0, lastQuestion + 1));
  const reserved = mostReserved(body, [model, ...texts.filter(({ id }) => model.fallbacks?.includes(id) === true)]);
  const list = (
    <ChatList
      list={chats.list ?? []}
      problem={chats.problem}
      shown={chat?.id}
      open={open}
      remove={(id) => {
        if (asking.running === id) asking.stop();
        chats.remove(id);
        if (id === chat?.id) open(undefined);
      }}
    />
  );
  const rail = (
    <Rail
      {...{ tab, setTab, change, model, chat }}
      body={coded}
      settings={limited}
      secret={key?.key}
      forget={() => keepChatKey(session.address, null)}
    />
  );
  return (
    <div className={isRail ? "chat-page with-rail" : "chat-page"}>
      <aside className="chat-side" aria-label="Chats">
        {list}
      </aside>
      <section className="chat-middle" aria-label="Conversation">
        <div className="chat-top">
          <h1>{chat?.title ?? "New chat"}</h1>
          <span className="row">
            <Button icon={MessagesSquare} className="icon phone" label="Chats" act={() => setSheet("chats")} />
            <Button
              icon={SlidersHorizontal}
              className="icon phone"
              label="Settings and code"
              act={() => setSheet("rail")}
            />
            <Button icon={SquarePen} className="icon phone" label="New chat" act={() => open(undefined)} />
            <Button
              icon={PanelRight}
              className="icon little fold"
              label={isRail ? "Fold the settings" : "Show the settings"}
              aria-expanded={isRail}
              act={() => setRail(!isRail)}
            />
          </span>
        </div>
        <div className="chat-scroll">
          {key === null ? (
            <WithWallets>
              <MakeKey />
            </WithWallets>
          ) : shown.length === 0 ? (
            <Start choose={(text) => setDraft({ ...draft, text })} />
          ) : null}
          <Messages
            key={chat?.id}
            messages={shown}
            edit={mayAsk ? askEdited : null}
            regenerate={mayAsk ? () => askFrom(lastQuestion) : null}
            showCode={() => {
              setTab("code");
              setRail(true);
              if (matchMedia("(max-width: 1100px)").matches) setSheet("rail");
            }}
          />
        </div>
        {key === null ? null : (
          <Composer
            key={chat?.id}
            {...{ model, draft, setDraft, isRunning, asking, send, reserved }}
            models={texts}
            choose={(id) => change({ model: id })}
            isFirst={shown.length === 0}
            setMaxTokens={(maxTokens) => {
              change({ maxTokens });
              asking.clearRefusal();
            }}
            about={<KeyLeft chatKey={key} forget={() => keepChatKey(session.address, null)} asking={asking.refusal} />}
          />
        )}
      </section>
      {isRail ? (
        <aside className="chat-rail" aria-label="Settings, code and cost">
          {rail}
        </aside>
      ) : null}
      {sheet === null ? null : (
        <Dialog title={sheet === "chats" ? "Chats" : "This chat"} className="sheet" close={() => setSheet(null)}>
          <div className="stack">{sheet === "chats" ? list : rail}</div>
        </Dialog>
      )}
    </div>
  );
}

function pick({ model, system, temperature, maxTokens }: ChatSettings): ChatSettings {
  return { model, system, temperature, maxTokens };
}

/** What the key used of its day, or that it does not work any more. */
function KeyLeft({ chatKey, forget, asking }: { chatKey: ChatKey; forget: () => void; asking: unknown }): ReactNode {
  const { data, error } = useOwnKey(chatKey);
  const isRefused = [error, asking].some((each) => each instanceof RefusedError && GONE.includes(each.code));
  if (isRefused) {
    return (
      <>
        The key Chat was disabled or deleted. <Button text="Make a new one" className="link" act={forget} />
      </>
    );
  }
  const limit = data?.limits.find(({ unit }) => unit === "nano_usd");
  if (limit === undefined) return null;
  const window = limit.name === "limit_daily" ? " today" : limit.name === "limit_monthly" ? " this month" : "";
  return `Key Chat: ${usd(limit.used)} of ${usd(limit.limit)}${window}`;
}
const GONE = ["invalid_api_key", "key_disabled", "key_expired"];

const STARTS = [
  "Write a Python function that retries a call with exponential backoff and jitter.",
  "Explain Merkle proofs to a new developer.",
  "Draft a short, friendly reply to a refund request.",
];

function Start({ choose }: { choose: (text: string) => void }): ReactNode {
  return (
    <div className="start">
      <h2>What do you want to ask?</h2>
      {STARTS.map((text) => (
        <Button text={text} key={text} act={() => choose(text)} />
      ))}
    </div>
  );
}
