import type { Time } from '../src/upstream/transport/timers.ts';
import { fakeClock } from './fake-clock.ts';

/** Time for tests: alarms go off inside `advance`, each at its own instant, in order. */
export function fakeTime(): Time & { advance(ms: number): void; alarms(): number } {
  const clock = fakeClock();
  let alarms: { atMs: number; wake: () => void }[] = [];
  return {
    wallMs: clock.wallMs,
    monotonicMs: clock.monotonicMs,
    after(ms, wake) {
      const alarm = { atMs: clock.monotonicMs() + ms, wake };
      alarms.push(alarm);
      return alarm;
    },
    cancel(alarm) {
      alarms = alarms.filter((one) => one !== alarm);
    },
    advance(ms) {
      const untilMs = clock.monotonicMs() + ms;
      for (;;) {
        const next = alarms.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
        if (next === undefined) break;
        alarms = alarms.filter((one) => one !== next);
        clock.advance(Math.max(0, next.atMs - clock.monotonicMs()));
        next.wake();
      }
      clock.advance(untilMs - clock.monotonicMs());
    },
    alarms: () => alarms.length,
  };
}
