import { after, before } from "node:test";
import type { Simulator } from "@inference/provider-simulator/server";
import type { HostOptions, HostUnderTest } from "./host.ts";
import { type StubProvider, startStubProvider } from "./settlement/stub-provider.ts";

type Around = {
  /** Settings of the simulator. */
  simulator?: Parameters<Simulator["change"]>[0];
  /** Runs before the host stops. */
  check?(host: HostUnderTest): Promise<unknown>;
};

/** A host for the tests of a describe block or a file: it starts before them, and stops after them. It has no member before. */
export function hostFor<Host extends HostUnderTest>(
  start: (options: HostOptions) => Promise<Host>,
  options: HostOptions = {},
  { simulator = {}, check = async () => undefined }: Around = {},
): Host {
  const host = {} as Host;
  before(async () => {
    fill(host, await start(options));
    host.simulator.simulator.change(simulator);
  });
  after(async () => {
    // It is empty if the start failed.
    if (!("stop" in host)) return;
    await check(host);
    await host.stop();
  });
  return host;
}

/** The same with a provider of scripted answers. */
export function hostWithStub<Host extends HostUnderTest>(
  start: (options: HostOptions) => Promise<Host>,
): { host: Host; provider: StubProvider } {
  const provider = {} as StubProvider;
  before(async () => fill(provider, await startStubProvider()));
  const host = hostFor((options) => start({ ...options, provider: provider.url }));
  after(() => provider.stop());
  return { host, provider };
}

/** Gives an object the members of a started one, also those that change, and those of its prototype. */
function fill<T extends object>(empty: T, started: T): void {
  Object.setPrototypeOf(empty, started);
}
