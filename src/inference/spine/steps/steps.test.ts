import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NeutralEvent } from '../../../formats/neutral/event.ts';
import type { AttemptSink, Chunk } from '../sink.ts';
import { type AnswerPlace, type AnswerStep, throughSteps } from './after.ts';

test('steps after an answer see its events in order: the first one before the second', () => {
  const taken: string[] = [];
  const last = { chunk: (chunk: Chunk) => void taken.push(textOf(chunk)) } as unknown as AttemptSink;
  const writing = (mark: string): AnswerStep => ({
    over: (next) => ({
      ...next,
      chunk: (chunk) => next.chunk([{ type: 'text-delta', choice: 0, text: textOf(chunk) + mark }] as never),
    }),
  });
  const sink = throughSteps([writing('1'), writing('2')], last, {} as AnswerPlace<Chunk>);
  sink.chunk([{ type: 'text-delta', choice: 0, text: 'said ' }] as never);
  assert.deepEqual(taken, ['said 12']);
});

function textOf(chunk: Chunk): string {
  return (chunk as readonly NeutralEvent[]).map((event) => ('text' in event ? event.text : '')).join('');
}
