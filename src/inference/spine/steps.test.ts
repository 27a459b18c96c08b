import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NeutralEvent } from '../../formats/neutral/event.ts';
import { invalid } from '../../kernel/failure.ts';
import { type AnswerPlace, type AnswerStep, throughSteps } from './after.ts';
import { passSteps } from './before.ts';
import type { Asked, Plan, RequestStep } from './endpoint.ts';
import type { RequestBody } from './request-body.ts';
import type { AttemptSink, Chunk } from './sink.ts';

interface CountedPlan extends Plan {
  marks?: readonly string[];
}
type Step = RequestStep<RequestBody, CountedPlan>;

const asked = { plan: { calls: 1 } } as unknown as Asked<RequestBody, CountedPlan>;
const marking =
  (mark: string): Step =>
  ({ plan }) => ({ marks: [...(plan.marks ?? []), mark] });

test('steps before a request run in order, each over the plan that the one before it left', async () => {
  const later: Step = async (one) => marking('second')(one);
  const plan = await passSteps([marking('first'), later, marking('third')], asked);
  assert.deepEqual(plan, { calls: 1, marks: ['first', 'second', 'third'] });
});

test('the first step that refuses a request ends the others', async () => {
  const failure = invalid('messages', 'Leave it out.');
  const refusing: Step = () => failure;
  const never: Step = () => assert.fail('it ran behind a refusal');
  assert.equal(await passSteps([marking('first'), refusing, never], asked), failure);
});

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
