import { type TestContext, test } from 'node:test';
import { type CountersUnderTest, counterDrivers } from './counter-drivers.ts';

/** One case over counters of its own, of every driver; skipped by name where this machine lacks one. */
export function over(title: string, run: (under: CountersUnderTest, t: TestContext) => Promise<void>): void {
  for (const driver of counterDrivers) {
    test(`counters over ${driver.name}: ${title}`, { skip: driver.missing() ?? false }, async (t) => {
      const under = await driver.create();
      t.after(() => under.remove());
      await run(under, t);
    });
  }
}

/** Runs a suite like `over`, where time must pass. */
export function overTime(
  title: string,
  run: (under: CountersUnderTest & { advance: (ms: number) => void }, t: TestContext) => Promise<void>,
): void {
  over(title, async (under, t) => {
    const { advance } = under;
    if (advance === null) return t.skip('its clock is not ours to move');
    await run({ ...under, advance }, t);
  });
}
