import { WebhookFailure, type WebhookTransport } from "@inference/gateway/environment";

/** Posts webhooks with `fetch`, which reaches the public network only: a Worker is in no private one. */
export const webhooks: WebhookTransport = {
  async post({ url, headers, body, signal }) {
    try {
      const answer = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
      await answer.body?.cancel();
      return answer.status;
    } catch {
      throw new WebhookFailure(signal.aborted ? "timeout" : "unreachable");
    }
  },
};
