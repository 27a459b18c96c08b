import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FailureError } from '../failure.ts';
import { createLink } from './link.ts';

const refusal = { kind: 'quota-unavailable', message: 'Nothing was run.' } as const;

/** One end of a link that asks, and one that offers these; messages are cloned as between processes. */
function linked() {
  const heard: unknown[] = [];
  const offers = {
    add: (one: number, other: number) => one + other,
    later: async (value: unknown) => value,
    refuse: () => {
      throw new FailureError(refusal);
    },
    refuseLater: async () => {
      throw new FailureError(refusal);
    },
    fail: () => {
      throw new Error('it broke');
    },
    hear: (what: unknown) => {
      heard.push(what);
    },
    hearLater: async (what: unknown) => {
      heard.push(what);
    },
    uncloneable: () => () => 1,
    never: () => new Promise<void>(() => {}),
  };
  let messages = 0;
  const asking = createLink<typeof offers>((message) => {
    messages += 1;
    offering.take(structuredClone(message));
  }, {});
  const offering = createLink((message) => {
    messages += 1;
    asking.take(structuredClone(message));
  }, offers);
  return { asking, heard, messages: () => messages };
}

test('answers come at once or later, in one message for all that a turn says', async () => {
  const { asking, heard, messages } = linked();
  const all = [asking.ask('add', 1, 2), asking.ask('later', { a: [1] }), asking.ask('add', 3, 4)];
  asking.notify('hear', 'one');
  asking.notify('hearLater', 'two');
  assert.equal(asking.pending, 3);
  assert.deepEqual(await Promise.all(all), [3, { a: [1] }, 7]);
  assert.equal(asking.pending, 0);
  assert.deepEqual(heard, ['one', 'two']);
  assert.ok(messages() <= 3, `${messages()} messages`);
  await nextTurn();
  await nextTurn();
  assert.ok(messages() <= 3, 'what nobody waits for has no answer');
});

test('a refusal comes with its fields, any other error with its words', async () => {
  const { asking } = linked();
  for (const name of ['refuse', 'refuseLater'] as const)
    await assert.rejects(asking.ask(name), (error) => {
      assert(error instanceof FailureError);
      assert.deepEqual(error.failure, refusal);
      return true;
    });
  await assert.rejects(
    asking.ask('fail'),
    (error) => !(error instanceof FailureError) && /^Error: it broke$/.test(`${error}`),
  );
  await assert.rejects(asking.ask('missing' as 'fail'), /this process has no missing/);
});

test('what cannot be cloned fails alone, on either side', async () => {
  const { asking, heard } = linked();
  const [before, bad, after] = [asking.ask('add', 1, 1), asking.ask('later', () => 1), asking.ask('add', 2, 2)];
  asking.notify('hear', () => 1);
  asking.notify('hear', 'last');
  await assert.rejects(bad, /DataCloneError/);
  assert.deepEqual(await Promise.all([before, after]), [2, 4]);
  assert.deepEqual(heard, ['last']);
  const answers = [asking.ask('add', 1, 1), asking.ask('uncloneable'), asking.ask('add', 2, 2)] as const;
  await assert.rejects(answers[1], /DataCloneError/);
  assert.deepEqual([await answers[0], await answers[2]], [2, 4]);
});

test('when the other process is gone, what waits is rejected, and so is what is asked later', async () => {
  const { asking } = linked();
  const waiting = asking.ask('never');
  asking.closed('worker 1 ended');
  await assert.rejects(waiting, /^Error: worker 1 ended$/);
  await assert.rejects(asking.ask('add', 1, 2), /^Error: worker 1 ended$/);
  assert.equal(asking.pending, 0);
});

test('messages of others over the same channel are left alone', () => {
  const { asking } = linked();
  for (const message of [null, 'link', {}, { link: 1 }, { cmd: 'NODE_CLUSTER' }]) asking.take(message);
});
