import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { NeutralEvent } from '../neutral/event.ts';
import { cuttingDecoder, cutWhole } from './cut-at-stop.ts';
import type { StreamDecoder } from './dialect.ts';

const text = (said: string): NeutralEvent => ({ type: 'text-delta', choice: 0, text: said });
const counts: NeutralEvent = { type: 'usage', usage: { inputTokens: 1, outputTokens: 9 } };
const plainEnd: NeutralEvent = { type: 'finish', choice: 0, reason: 'stop', stopSequence: null };
const end: NeutralEvent = { type: 'end' };
const cutBy = (stopSequence: string): NeutralEvent => ({
  type: 'finish',
  choice: 0,
  reason: 'stop-sequence',
  stopSequence,
});
const saidIn = (events: readonly NeutralEvent[]) =>
  events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');

/** Each list is what one event of the provider's says. */
function streamed(lists: readonly (readonly NeutralEvent[])[], stops: readonly string[]): NeutralEvent[][] {
  let next = 0;
  const inner: StreamDecoder = { step: () => [...lists[next++]!], finish: () => [], malformedLines: 0 };
  const decoder = cuttingDecoder(inner, stops);
  return lists.map(() => decoder.step({ event: '', data: '' }));
}

test('a stream ends at once before the first stop string, wherever its pieces are cut', () => {
  const steps = streamed(
    [[text('One E')], [text('N')], [text('D two')], [text(' three')], [plainEnd, counts, end]],
    ['END'],
  );
  assert.deepEqual(steps, [[text('One ')], [], [cutBy('END'), end], [], []]);
});

test('what only looked like a stop string is said, and so is a text whose end may be the beginning of one', () => {
  const steps = streamed([[text('an E')], [text('NTER')], [text(' E')], [plainEnd, counts, end]], ['END']);
  assert.deepEqual(steps, [[text('an ')], [text('ENTER')], [text(' ')], [text('E'), plainEnd, counts, end]]);
});

test('a whole answer keeps its counts, and loses what follows: calls too', () => {
  const call: NeutralEvent = { type: 'tool-call-start', choice: 0, call: 0, id: 'a', name: 'f' };
  const calls = { ...plainEnd, reason: 'tool-calls' as const };
  assert.deepEqual(cutWhole([text('One.\n\nTwo.'), call, calls, counts, end], ['\n\n']), [
    text('One.'),
    cutBy('\n\n'),
    counts,
    end,
  ]);
});

test('the text before the stop string that is whole first arrives, however it comes', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), fc.array(word, { minLength: 1, maxLength: 3 }), (pieces, stops) => {
      const whole = pieces.join('');
      const ends = stops.flatMap((stop) => (whole.includes(stop) ? [whole.indexOf(stop) + stop.length] : []));
      const soonest = Math.min(...ends);
      const met = stops.filter((stop) => whole.slice(0, soonest).endsWith(stop)).map(({ length }) => soonest - length);
      const at = ends.length === 0 ? whole.length : Math.min(...met);
      const events = streamed([...pieces.map((piece) => [text(piece)]), [plainEnd, end]], stops).flat();
      assert.equal(saidIn(events), whole.slice(0, at));
      assert.equal(saidIn(cutWhole([...pieces.map(text), plainEnd, end], stops)), whole.slice(0, at));
      assert.equal(events.at(-1)?.type, 'end');
    }),
  );
});
