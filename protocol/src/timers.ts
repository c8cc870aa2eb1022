/** The host's timers. */
export type Timers = {
  /**
   * Calls back once, and never after it was cancelled, whichever request cancels it. After 0 ms it calls back in a
   * later turn of the event loop, as soon as possible.
   */
  after(ms: number, callback: () => void): { cancel(): void };
};
