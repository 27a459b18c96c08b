import { setTimeout as pause } from 'node:timers/promises';

/** Enough for a machine that is busy with other things: only a test that fails waits so long. */
const patienceMs = 60_000;
const betweenLooksMs = 10;

/** Waits until `holds`. Fails after `withinMs`; name one only where the product promises it. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = patienceMs,
): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`${what}: not within ${withinMs} ms`);
    await pause(betweenLooksMs);
  }
}
