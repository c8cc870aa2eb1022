import type { Credits } from "@inference/sdk/spending";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useKeys } from "../account.ts";
import { Steps } from "../parts/steps.tsx";
import { Card } from "../parts.tsx";
import type { Session } from "../wallet/session.ts";
import { RequestCode } from "./request-code.tsx";

/** In place of the chart, before the first request. */
export function FirstSteps({ session, credits }: { session: Session; credits: Credits | undefined }): ReactNode {
  const keys = useKeys(session);
  const [hasFunds, hasKey] = [(credits?.total_credits_nano_usd ?? 0) > 0, (keys.data?.length ?? 0) > 0];
  const steps = [
    { title: "Add funds", about: "One dollar in is one dollar of inference.", href: "/funds", isDone: hasFunds },
    { title: "Create a key", about: "One signature, without gas.", href: "/keys/new", isDone: hasKey },
    {
      title: "Send a request",
      about: "With the code beside, or from any OpenAI client.",
      href: "/docs",
      isDone: false,
    },
  ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  return (
    <div className="two">
      <Card title="First request">
        <Steps
          steps={steps.map(({ title, about, href, isDone }, index) => ({
            name: title,
            mark: isDone ? "done" : index === next ? "now" : "later",
            title: isDone ? title : href === "/docs" ? <a href={href}>{title}</a> : <Link href={href}>{title}</Link>,
            about: <span className="quiet">{about}</span>,
          }))}
        />
      </Card>
      <RequestCode />
    </div>
  );
}
