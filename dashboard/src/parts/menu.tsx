import { Content, Item, Portal, Root, Separator, Trigger } from "@radix-ui/react-dropdown-menu";
import type { ReactNode } from "react";
import { Link } from "wouter";

/** An entry: it acts, or leads to a page. A null is a line, at most one in a menu. */
type MenuEntry = {
  text: string;
  icon?: ReactNode;
  isDanger?: boolean;
} & ({ act: () => void } | { href: string });

/** A button with a menu. `button` is a `button` element, with a name for screen readers. */
export function Menu({ button, about, entries }: MenuParts): ReactNode {
  return (
    <Root modal={false}>
      <Trigger asChild>{button}</Trigger>
      <Portal>
        <Content className="menu" align="end" sideOffset={4} collisionPadding={8}>
          {about === undefined ? null : <div className="about">{about}</div>}
          {entries.map((entry) =>
            entry === null ? (
              <Separator key="line" asChild>
                <hr />
              </Separator>
            ) : "href" in entry ? (
              <Item key={entry.text} asChild>
                <Link href={entry.href}>
                  {entry.icon}
                  {entry.text}
                </Link>
              </Item>
            ) : (
              <Item key={entry.text} className={entry.isDanger ? "danger" : undefined} onSelect={entry.act}>
                {entry.icon}
                {entry.text}
              </Item>
            ),
          )}
        </Content>
      </Portal>
    </Root>
  );
}
type MenuParts = { button: ReactNode; about?: ReactNode; entries: readonly (MenuEntry | null)[] };
