/** How long each object is at work: from the first call that finds it idle until the last reply. */
export function activity(now: () => number, add: (kind: string, ms: number) => void) {
  const busy = new Map<string, { calls: number; since: number }>();
  return {
    /** Returns what ends the call. */
    begin(kind: string, object: string): () => void {
      const found = busy.get(object) ?? { calls: 0, since: now() };
      found.calls += 1;
      busy.set(object, found);
      return () => {
        found.calls -= 1;
        if (found.calls > 0) return;
        busy.delete(object);
        add(kind, now() - found.since);
      };
    },
  };
}
