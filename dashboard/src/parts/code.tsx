import { Content, List, Root, Trigger } from "@radix-ui/react-tabs";
import type { ReactNode } from "react";
import { CopyButton } from "../parts.tsx";
import { store, useStored } from "../stored.ts";
import { classOf, TOKENS } from "./tokens.ts";

/** The code of one tab. */
export type CodeTab = { name: string; text: string };

/**
 * Code in tabs, with a button that copies what is shown. The chosen tab is kept in the browser, and every other block
 * with this label shows it too.
 */
export function Code({ tabs, foot, about, label = "Language" }: CodeParts): ReactNode {
  const place = `chosen ${label}`;
  const kept = useStored(localStorage, place);
  const shown = tabs.find(({ name }) => name === kept) ?? tabs[0];
  if (shown === undefined) return null;
  return (
    <Root className="code" value={shown.name} onValueChange={(name) => store(localStorage, place, name)}>
      <div className="bar">
        <List aria-label={label}>
          {tabs.map(({ name }) => (
            <Trigger key={name} value={name}>
              {name}
            </Trigger>
          ))}
        </List>
        <CopyButton text={shown.text} />
      </div>
      {tabs.map(({ name, text }) => (
        <Content key={name} value={name}>
          {about === undefined ? null : <p className="about quiet">{about(name)}</p>}
          <Lines text={text} />
        </Content>
      ))}
      {foot}
    </Root>
  );
}

type CodeParts = {
  tabs: readonly CodeTab[];
  foot?: ReactNode;
  /** Above the code of a tab. */
  about?: (name: string) => ReactNode;
  label?: string;
};

/** One piece of code, with its name and a button that copies it. */
export function CodeBlock({ text, label }: { text: string; label: string }): ReactNode {
  return (
    <div className="code">
      <div className="bar">
        <span className="label">{label}</span>
        <CopyButton text={text} />
      </div>
      <Lines text={text} />
    </div>
  );
}

function Lines({ text }: { text: string }): ReactNode {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const found of text.matchAll(TOKENS)) {
    const [all] = found;
    parts.push(text.slice(end, found.index));
    parts.push(
      <span key={found.index} className={classOf(found)}>
        {all}
      </span>,
    );
    end = found.index + all.length;
  }
  parts.push(text.slice(end));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard cannot reach what is cut off
    <pre tabIndex={0}>
      <code>{parts}</code>
    </pre>
  );
}
