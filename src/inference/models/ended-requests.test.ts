import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import type { UsageEvent } from '../../books/metering/ledger.ts';
import { createAliasWatch, reportFinished } from './ended-requests.ts';

const attempt = { target: 'p/m', provider: 'p', credential: 'p#1', status: 401, class: 'bad_credential' };

function finishedWith(level: 'info' | 'warn') {
  const seen = { lines: 0, warnings: [] as object[], finished: [] as string[], failed: [] as string[], ended: 0 };
  const report = reportFinished(
    {
      log: {
        warn: (facts) => void seen.warnings.push(facts),
        isLevelEnabled: (asked) => asked === level,
      },
      logRequest: () => void seen.lines++,
      metrics: {
        finished: (_, model, target) => void seen.finished.push(`${model} ${target}`),
        attemptFailed: (target, end) => void seen.failed.push(`${target} ${end}`),
      },
      aliases: { ended: () => void seen.ended++ },
    },
    {
      current: {
        models: { labels: { modelOf: (id: string) => id, targetOf: (id: string | null) => id ?? '' } },
      } as never,
    },
    { settled: null },
  );
  return { seen, report };
}

function eventOf(kind: string, attempts: readonly object[]): UsageEvent {
  return { requestId: 'req_1', alias: 'm', target: 'p/m', class: kind, route: { attempts } } as unknown as UsageEvent;
}

test('a settled request is a line of the log while that shows info, and counts without it', () => {
  for (const [level, lines] of [
    ['info', 1],
    ['warn', 0],
  ] as const) {
    const { seen, report } = finishedWith(level);
    report(eventOf('ok', [{ ...attempt, class: 'ok' }]), null);
    assert.equal(seen.lines, lines);
    assert.deepEqual({ ...seen, lines: 0 }, { lines: 0, warnings: [], finished: ['m p/m'], failed: [], ended: 1 });
  }
});

test('a refused credential is a warning, though another target answered', () => {
  const { seen, report } = finishedWith('info');
  report(eventOf('ok', [attempt, { ...attempt, class: 'quota_exhausted' }, { ...attempt, class: 'ok' }]), null);
  assert.deepEqual(seen.failed, ['p/m bad_credential', 'p/m quota_exhausted']);
  assert.deepEqual(
    seen.warnings.map((facts) => (facts as { class: string }).class),
    ['bad_credential', 'quota_exhausted'],
  );
});

test('an attempt that its caller cancelled, or that could not answer so, is no failure of a target', () => {
  const { seen, report } = finishedWith('info');
  const classes = ['cancelled', 'not_capable', 'low_quality', 'too_long', 'filtered', 'transient'];
  report(
    eventOf(
      'upstreams-failed',
      classes.map((kind) => ({ ...attempt, class: kind })),
    ),
    null,
  );
  assert.deepEqual(seen.failed, ['p/m transient']);
  assert.deepEqual(seen.warnings, []);
});

test('a model whose requests fail slowly is down after three, too, and forgotten after a minute without one', () => {
  const clock = fakeClock();
  const errors: string[] = [];
  const report = (_: object, message: string) => void errors.push(message);
  const candidates = [{ target: {} }];
  const table = { labels: { modelOf: (id: string) => id, patterns: [] }, named: [{ id: 'm', candidates }] } as never;
  const health = { status: () => 'healthy' as const };
  const watch = createAliasWatch({ models: () => table, health, clock, log: { error: report, warn: report } });
  for (let failed = 0; failed < 3; failed++) {
    const { class: end, atMs } = { class: 'upstreams-failed', atMs: clock.wallMs() };
    // So long it took: its arrival is no measure.
    clock.advance(120_000);
    watch.ended('m', { class: end, atMs } as never);
    watch.look();
    clock.advance(30_000);
    watch.look();
  }
  assert.deepEqual(errors, ["model 'm' is down: no target answers"]);
  clock.advance(60_000);
  watch.look();
  assert.deepEqual(errors.slice(1), ["model 'm' is back"]);
});
