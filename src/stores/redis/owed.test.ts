import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OperationPlan, TurnAnswer } from './operation-turns.ts';
import { createOwed } from './owed.ts';

/** What is given back reaches Redis once, however long it was away: twice would give too much. */

const plan = {} as OperationPlan;

function setUp(answers: readonly TurnAnswer['answer'][]) {
  const left = [...answers];
  const sent: string[] = [];
  const link = {
    ready: () => false,
    async ask(_name: string, _plan: OperationPlan, [value = '']: readonly string[]) {
      sent.push(value);
      return { answer: left.shift() ?? [] } as TurnAnswer;
    },
  };
  return { owed: createOwed(link, 'giveBack', ['unsent']), sent };
}

/** What has been answered is dealt with a turn later. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('what could not be sent is sent again once, and no more after it arrived', async (t) => {
  const { owed, sent } = setUp(['unsent', 'unsent']);
  t.after(() => owed.close());
  owed.send(plan, ['a']);
  owed.send(plan, ['b']);
  await turn();
  owed.retry();
  await turn();
  owed.retry();
  await turn();
  assert.deepEqual(sent, ['a', 'b', 'a', 'b']);
});

test('what may have arrived is not sent again where that would count twice', async (t) => {
  const { owed, sent } = setUp(['unknown']);
  t.after(() => owed.close());
  owed.send(plan, ['a']);
  await turn();
  owed.retry();
  assert.deepEqual(sent, ['a']);
});

test('what waits can be dropped', async (t) => {
  const { owed, sent } = setUp(['unsent']);
  t.after(() => owed.close());
  owed.send(plan, ['a']);
  await turn();
  owed.forget();
  owed.retry();
  assert.deepEqual(sent, ['a']);
});
