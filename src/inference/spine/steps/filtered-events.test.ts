import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertWithin } from '../../../../test/machine-load.ts';
import type { NeutralEvent } from '../../../formats/neutral/event.ts';
import { filteredPart } from './filtered-events.ts';

const start = (call: number): NeutralEvent => ({ type: 'tool-call-start', choice: 0, call, id: `${call}`, name: 'f' });
const piece = (call: number, argumentsJson: string): NeutralEvent => ({
  type: 'tool-call-delta',
  choice: 0,
  call,
  argumentsJson,
});
const text: NeutralEvent = { type: 'text-delta', choice: 0, text: 'Done.' };
const through = (events: readonly NeutralEvent[]) => filteredPart(events, () => null);

test('arguments that are no JSON keep their place before what comes behind them', () => {
  const events = [start(0), piece(0, '{"to": me}'), start(1), piece(1, '{"to":"you"}'), text];
  assert.deepEqual(through(events), events);
});

test('arguments that come by turns go on when they are complete', () => {
  const events = [start(0), piece(0, '{"to":'), start(1), piece(1, '{}'), piece(0, '"me"}'), text];
  assert.deepEqual(through(events), [start(0), start(1), piece(0, '{"to":"me"}'), piece(1, '{}'), text]);
});

test('long arguments that do not end are read once, however many calls follow', () => {
  const calls = Array.from({ length: 2_000 }, (_, at) => [start(at + 1), piece(at + 1, '{}')]);
  const events = [start(0), piece(0, `{"text":"${'x'.repeat(1_000_000)}`), ...calls.flat()];
  const startedMs = performance.now();
  assert.equal(through(events).length, events.length);
  assertWithin(performance.now() - startedMs, 500);
});
