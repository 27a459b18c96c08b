import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../../test/fake-clock.ts';
import { createSigner } from '../../../kernel/sign.ts';
import type { AlertMessage } from './alert-message.ts';
import type { AlertRow, AlertStore } from './alert-store.ts';
import { createAlertTurns } from './alerts.ts';
import { nextAlerts, type SeenAlert } from './next-alerts.ts';
import type { Notice } from './notice-store.ts';

const minuteMs = 60_000;
const quietMs = 15 * minuteMs;

/** The rows over time, and the reported texts; `lookAt(minute, …)` with the problems of that minute. */
function watched() {
  let rows = new Map<string, AlertRow>();
  const told: string[] = [];
  return {
    told,
    rows: () => [...rows.keys()],
    lookAt(minute: number, ...severities: readonly SeenAlert['severity'][]) {
      const nowMs = minute * minuteMs;
      const seen = severities.map((severity) => ({ name: 'provider a', severity, text: `${minute}`, fix: null }));
      const change = nextAlerts([...rows.values()], seen, { nowMs, overMs: nowMs - minuteMs, quietMs });
      for (const row of change.write) rows.set(row.name, row);
      rows = new Map([...rows].filter(([name]) => !change.forget.includes(name)));
      for (const { severity } of change.raised) told.push(`${minute} ${severity}`);
      for (const { sinceMs } of change.resolved) told.push(`${minute} over since ${sinceMs / minuteMs}`);
    },
  };
}

test('an alert is told once until it is over, and then its end', () => {
  const { told, lookAt } = watched();
  lookAt(1, 'problem');
  lookAt(2, 'problem');
  lookAt(30, 'problem');
  lookAt(31);
  assert.deepEqual(told, ['1 problem'], 'another process may see it still');
  lookAt(32);
  lookAt(33);
  assert.deepEqual(told, ['1 problem', '32 over since 1']);
});

test('a warning that becomes a problem is told at once, a problem that becomes a warning is not', () => {
  const { told, lookAt } = watched();
  lookAt(1, 'warning');
  lookAt(2, 'problem');
  lookAt(3, 'warning');
  lookAt(4, 'problem');
  assert.deepEqual(told, ['1 warning', '2 problem']);
});

test('what comes and goes is told as often as its quiet time allows, and its end only where its beginning was', () => {
  const { told, lookAt } = watched();
  lookAt(1, 'problem');
  lookAt(3);
  lookAt(5, 'problem');
  lookAt(7);
  lookAt(9, 'problem');
  assert.deepEqual(told, ['1 problem', '3 over since 1']);
  lookAt(15, 'problem');
  assert.deepEqual(told, ['1 problem', '3 over since 1']);
  lookAt(16, 'problem');
  assert.deepEqual(told.at(-1), '16 problem', 'it lasts longer than that');
  lookAt(18);
  assert.deepEqual(told.at(-1), '18 over since 9');
});

test('what a wrong clock told in the future keeps nothing quiet', () => {
  const { told, lookAt } = watched();
  lookAt(5_000, 'problem');
  lookAt(5_002);
  lookAt(3, 'problem');
  assert.deepEqual(told.slice(2), ['3 problem']);
});

test('nothing is over before it can be said, and what is over is forgotten some day', () => {
  const { told, lookAt, rows } = watched();
  lookAt(1, 'problem');
  const row: AlertRow = {
    name: 'provider a',
    severity: 'problem',
    text: '',
    fix: null,
    sinceMs: 0,
    seenMs: 0,
    reported: 'problem',
    reportedMs: 0,
  };
  const change = nextAlerts([row], [], { nowMs: 10 * minuteMs, overMs: null, quietMs });
  assert.deepEqual(change, { write: [], forget: [], raised: [], resolved: [] });
  lookAt(3);
  assert.equal(told.length, 2);
  assert.deepEqual(rows(), ['provider a']);
  lookAt(3 * 24 * 60);
  assert.deepEqual(rows(), []);
});

test('F74 without the database each new alert is sent once, and again when it did not arrive, with its id; its end waits', async () => {
  const clock = fakeClock(1_000_000);
  let rows: AlertRow[] = [];
  let down = false;
  let arrives = true;
  const sent: Notice[] = [];
  const queued: Notice[] = [];
  const store: AlertStore = {
    async change(step) {
      if (down) throw new Error('PostgreSQL cannot be reached');
      const { write, forget, notices } = step(rows);
      const written = new Set([...write.map(({ name }) => name), ...forget]);
      rows = [...rows.filter(({ name }) => !written.has(name)), ...write];
      queued.push(...notices);
      return notices.length;
    },
  };
  const process = () =>
    createAlertTurns({
      store,
      look: async () => [],
      settings: () => ({ receivers: ['hook'], everyMs: 1_000, quietMs: 60_000 }),
      clock,
      async send(_, notice) {
        sent.push(notice);
        if (!arrives) throw new Error('refused');
        return 'sent';
      },
      // Replicas have the same secret.
      signer: createSigner(['a secret of thirty-two bytes or more'], 'alert ids'),
      onQueued: () => undefined,
      onTrouble: () => undefined,
    });
  const [one, other] = [process(), process()];
  const turns = async (count: number) => {
    for (let at = 0; at < count; at++) {
      for (const turn of [one, other]) await turn().catch(() => undefined);
      clock.advance(1_000);
    }
  };
  await turns(6);
  down = true;
  arrives = false;
  await turns(2);
  arrives = true;
  await turns(20);
  // Each process tries twice in vain, and then once more.
  assert.equal(sent.length, 6);
  assert.equal(new Set(sent.map(({ id }) => id)).size, 1);
  assert.deepEqual(queued, []);
  down = false;
  await turns(20);
  assert.equal(sent.length, 6);
  const messages = queued.map(({ body }) => JSON.parse(body) as AlertMessage);
  assert.deepEqual(
    messages.map(({ data }) => [data.raised.length, data.resolved.map(({ name }) => name)]),
    [[0, ['database']]],
  );
});
