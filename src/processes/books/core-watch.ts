const overload = 'The process that keeps the books uses its whole core, so more workers answer no more.';
/** Share of its core from which the process of the books holds up the workers. */
const busyShare = 0.9;
/** Looks in a row that must find it so: a start and a collection take a second or two. */
const busyLooksMin = 5;

/**
 * Whether this thread uses up its core. Call `look` once a second. Looks at processor time, since on a crowded machine
 * a thread that waits for its turn also seems busy. `cpuMs` and `nowMs` only rise. `warn` is called once each time that
 * the trouble begins.
 */
export function createCoreWatch(
  warn: (message: string) => void,
  cpuMs: () => number = threadCpuMs,
  nowMs: () => number = () => performance.now(),
) {
  let before = { cpuMs: cpuMs(), nowMs: nowMs() };
  let busyLooks = 0;
  return {
    look(): void {
      const now = { cpuMs: cpuMs(), nowMs: nowMs() };
      const share = (now.cpuMs - before.cpuMs) / (now.nowMs - before.nowMs);
      before = now;
      busyLooks = share >= busyShare ? busyLooks + 1 : 0;
      if (busyLooks === busyLooksMin) warn(overload);
    },
    trouble: (): string | null => (busyLooks >= busyLooksMin ? overload : null),
  };
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
