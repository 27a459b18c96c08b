import { setTimeout as pause } from 'node:timers/promises';

/** Enough for a machine that is busy with other things: only a test that fails waits so long. */
const patienceMs = 60_000;
/** A look at a gateway costs as much as a request, and what took long so far takes longer. */
const [betweenLooksMs, betweenLooksMostMs] = [10, 100];

/** Waits until `holds`, and a twentieth of that longer at most. Fails after `withinMs`; name one only where the product promises it. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = patienceMs,
): Promise<void> {
  const startMs = performance.now();
  while (!(await holds())) {
    const waitedMs = performance.now() - startMs;
    if (waitedMs > withinMs) throw new Error(`${what}: not within ${withinMs} ms`);
    await pause(Math.min(betweenLooksMostMs, Math.max(betweenLooksMs, waitedMs / 20)));
  }
}
