/**
 * Loaded into every child before its program: adds the devnet's offset to what `Date` says of now. The programs have no
 * setting for it, so that nobody can move the day of a gateway that serves other people.
 */
const offsetMs = Number(process.env.DEVNET_CLOCK_OFFSET_MS || 0);
if (!Number.isSafeInteger(offsetMs)) throw new RangeError("DEVNET_CLOCK_OFFSET_MS must be whole milliseconds");

if (offsetMs !== 0) {
  const MachineDate = Date;
  const now = (): number => MachineDate.now() + offsetMs;
  globalThis.Date = new Proxy(MachineDate, {
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
    construct: (target, given, caller) => Reflect.construct(target, given.length === 0 ? [now()] : given, caller),
    apply: () => new MachineDate(now()).toString(),
  });
}
