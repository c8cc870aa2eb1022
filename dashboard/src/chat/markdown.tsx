import Markdown, { type MarkdownToJSX } from "markdown-to-jsx/react";
import { Children, isValidElement, memo, type ReactNode } from "react";
import { CodeBlock } from "../parts/code.tsx";

/**
 * A model's text. HTML in it is shown as text. Only links to web pages and mail are links. An image is a link to it:
 * the page loads nothing that a model names.
 */
export const ModelText = memo(
  ({ text }: { text: string }): ReactNode => (
    <Markdown className="prose" options={OPTIONS}>
      {text}
    </Markdown>
  ),
);

const heading = (className: string) => ({
  // Without the id that its text would make: ids are the page's.
  component: ({ children }: { children?: ReactNode }) => <h2 className={className}>{children}</h2>,
});

const OPTIONS: MarkdownToJSX.Options = {
  disableParsingRawHTML: true,
  disableFrontmatter: true,
  forceBlock: true,
  forceWrapper: true,
  wrapper: "div",
  overrides: {
    a: { component: WebLink },
    img: { component: ImageLink },
    input: { component: ({ checked }: { checked?: boolean }) => (checked ? "☑ " : "☐ ") },
    pre: { component: Preformatted },
    h1: heading("first"),
    h2: heading("second"),
    h3: heading("third"),
    h4: heading("third"),
    h5: heading("third"),
    h6: heading("third"),
  },
};

/** The address, if it is one of a web page or of mail. */
function safeAddress(text: unknown): string | undefined {
  const { protocol, href } = (typeof text === "string" ? URL.parse(text) : null) ?? {};
  return protocol === "https:" || protocol === "http:" || protocol === "mailto:" ? href : undefined;
}

function WebLink({ href, children }: { href?: string; children?: ReactNode }): ReactNode {
  const safe = safeAddress(href);
  if (safe === undefined) return <span>{children}</span>;
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function ImageLink({ src, alt }: { src?: string; alt?: string }): ReactNode {
  return <WebLink {...(src === undefined ? {} : { href: src })}>Image: {alt || "without a description"}</WebLink>;
}

function Preformatted({ children }: { children?: ReactNode }): ReactNode {
  const [code] = Children.toArray(children);
  const props = isValidElement<{ className?: string; children?: ReactNode }>(code) ? code.props : {};
  const language = /(?:^|\s)lang(?:uage)?-(\S+)/.exec(props.className ?? "")?.[1];
  return <CodeBlock label={language ?? "code"} text={textIn(props.children ?? children).replace(/\n$/, "")} />;
}

function textIn(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(textIn).join("");
  return isValidElement<{ children?: ReactNode }>(node) ? textIn(node.props.children) : "";
}
