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

test('calls whose arguments never end are looked at once each, however many there are', () => {
  const events = Array.from({ length: 20_000 }, (_, at) => [start(at), piece(at, '{"to":')]).flat();
  const startedMs = performance.now();
  assert.equal(through([...events, text]).length, events.length + 1);
  assertWithin(performance.now() - startedMs, 1_000);
});

const made = 'made.up@example.net';
const masking = () => ({ push: (text: string) => text.replace(made, '<EMAIL_1>'), end: () => '' });

test('places of thousands of sources in a long answer are looked for in bounded time', () => {
  const words = Array.from({ length: 9_000 }, (_, at) => `word${at}`);
  const whole = `${made} ${words.join(' ')}`;
  const sources = words.map((word): NeutralEvent => {
    const start = whole.indexOf(word);
    const citation = { url: 'https://a.example/', title: '', quote: '', span: { start, end: start + word.length } };
    return { type: 'citation', choice: 0, citation };
  });
  const startedMs = performance.now();
  const passed = filteredPart([{ type: 'text-delta', choice: 0, text: whole }, ...sources], masking);
  assertWithin(performance.now() - startedMs, 500);
  const placed = passed.flatMap((event) => (event.type === 'citation' ? [event.citation.span] : []));
  const by = '<EMAIL_1>'.length - made.length;
  assert.equal(placed.length, words.length);
  assert.deepEqual(placed[10], { start: whole.indexOf('word10') + by, end: whole.indexOf('word10') + by + 6 });
  assert.equal(placed.at(-1), undefined, 'the last ones have no place');
});

test('sources of a long answer that no filter changes keep their places, however many there are', () => {
  const events = Array.from({ length: 5_000 }, (_, at): NeutralEvent[] => [
    { type: 'text-delta', choice: 0, text: 'x'.repeat(60) },
    { type: 'citation', choice: 0, citation: { url: null, title: '', quote: '', span: { start: at, end: at + 5 } } },
  ]).flat();
  const startedMs = performance.now();
  const passed = filteredPart(events, () => ({ push: (text) => text, end: () => '' }));
  assertWithin(performance.now() - startedMs, 500);
  assert.deepEqual(
    passed.filter(({ type }) => type === 'citation'),
    events.filter(({ type }) => type === 'citation'),
  );
});
