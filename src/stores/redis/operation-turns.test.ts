import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../../test/fake-clock.ts';
import { seedWaitMaxMs } from '../patience.ts';
import type { Answer } from './link.ts';
import { createTurns, type OperationPlan } from './operation-turns.ts';

const planOf = (name: string): OperationPlan => ({ keys: [`open-${name}`, `scope-${name}`], args: ['limit'] });
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('operations of a turn are one call, and what they have in common goes once', async () => {
  const sent: { keys: readonly string[]; args: readonly string[] }[] = [];
  const link = {
    async run(_: unknown, keys: readonly string[], args: readonly string[]): Promise<Answer> {
      sent.push({ keys, args });
      return [0, [9, 'WRONGTYPE'], [0, 1], [8, [0, 3], [1, 2]]];
    },
  };
  const told: string[] = [];
  const turns = createTurns(link, fakeClock(0), (message) => told.push(message));
  const [one, other] = [planOf('a'), planOf('b')];
  const asked = [
    turns.ask('hold', one, ['r1', '1000']),
    turns.ask('hold', one, ['r2', '1000']),
    turns.ask('settle', other, ['r0', '0', '7', '9']),
    turns.ask('hold', other, ['r3', '5']),
    turns.ask('hold', other, ['r4', '6']),
  ];
  assert.deepEqual(
    (await Promise.all(asked)).map(({ answer, behind, behindSum }) => [answer, behind, behindSum]),
    [
      [[0, 1], 1, 1_000],
      [[0, 1], 0, 0],
      ['unknown', 0, 0],
      [[0, 3], 0, 0],
      [[1, 2], 0, 0],
    ],
  );
  assert.deepEqual(told, ['redis: a command was refused: WRONGTYPE']);
  assert.deepEqual(sent, [
    {
      keys: ['open-b', 'scope-b', 'open-a', 'scope-a'],
      args: [
        ...['2', '2', '1', 'limit', '2', '1', 'limit'],
        ...['settle', '1', '1', 'r0', '0', '7', '9'],
        ...['hold', '2', '2', 'r1', '1000', 'r2', '1000'],
        ...['hold', '1', '2', 'r3', '5', 'r4', '6'],
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
  assert.deepEqual(await asked.at(-1), { answer: 'unsent', sentMs: seedWaitMaxMs, behind: 0, behindSum: 0 });
  assert.deepEqual(await asked[0], { answer: 'unknown', sentMs: 0, behind: 0, behindSum: 0 });
  assert.equal(answers.length, 8);
});

test('what somebody may wait for goes in the same turn: a place that was left is the next one of another replica', async () => {
  const sent: string[] = [];
  const link = {
    async run(_: unknown, __: readonly string[], args: readonly string[]): Promise<Answer> {
      sent.push(args.includes('leave') ? 'leave' : 'settle');
      return [0, [0]];
    },
  };
  const turns = createTurns(link, fakeClock(0), () => {});
  const settled = turns.ask('settle', planOf('a'), ['r1', '0', '7', '9']);
  await turn();
  assert.deepEqual(sent, [], 'it waits for others for a moment');
  await settled;
  void turns.ask('leave', planOf('b'), ['r2']);
  await turn();
  assert.deepEqual(sent, ['settle', 'leave']);
});
