import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { seedWaitMaxMs } from '../patience.ts';
import type { Answer } from './link.ts';
import { createTurns, type OperationPlan } from './turns.ts';

const planOf = (name: string): OperationPlan => ({ keys: [`open-${name}`, `scope-${name}`], args: ['limit'] });
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('operations of a turn are one call, and what they have in common goes once', async () => {
  const sent: { keys: readonly string[]; args: readonly string[] }[] = [];
  const link = {
    async run(_: unknown, keys: readonly string[], args: readonly string[]): Promise<Answer> {
      sent.push({ keys, args });
      return [0, [0, 1], [1, 2], [9, 'WRONGTYPE']];
    },
  };
  const told: string[] = [];
  const turns = createTurns(link, fakeClock(0), (message) => told.push(message));
  const [one, other] = [planOf('a'), planOf('b')];
  const asked = [
    turns.ask('hold', one, ['r1', '1000']),
    turns.ask('hold', one, ['r2', '1000']),
    turns.ask('settle', other, ['r0', '0', '7', '9']),
  ];
  assert.deepEqual(
    (await Promise.all(asked)).map(({ answer }) => answer),
    [[0, 1], [1, 2], 'unknown'],
  );
  assert.deepEqual(told, ['redis: a command was refused: WRONGTYPE']);
  assert.deepEqual(sent, [
    {
      keys: ['open-a', 'scope-a', 'open-b', 'scope-b'],
      args: [
        ...['2', '2', '1', 'limit', '2', '1', 'limit'],
        ...['hold', '1', 'r1', '1000', '', ''],
        ...['hold', '1', 'r2', '1000', '', ''],
        ...['settle', '2', 'r0', '0', '7', '9'],
      ],
    },
  ]);
});

test('a burst waits here, some calls at a time, and is given up after its wait', async () => {
  const answers: ((answer: Answer) => void)[] = [];
  const link = { run: () => new Promise<Answer>((resolve) => answers.push(resolve)) };
  const clock = fakeClock(0);
  const turns = createTurns(link, clock, () => {});
  const plan = planOf('a');
  const asked = Array.from({ length: 8 * 64 + 1 }, (_, i) => turns.ask('hold', plan, [`r${i}`, '1']));
  await turn();
  assert.equal(answers.length, 8, 'the last one waits');
  clock.advance(seedWaitMaxMs);
  answers[0]!('unknown');
  assert.deepEqual(await asked.at(-1), { answer: 'unsent', sentMs: seedWaitMaxMs });
  assert.deepEqual(await asked[0], { answer: 'unknown', sentMs: 0 });
  assert.equal(answers.length, 8);
});
