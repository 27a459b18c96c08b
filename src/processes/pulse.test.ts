import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ProcessFacts } from '../books/metering/replicas.ts';
import { Pulse } from './pulse.ts';

const facts = { replica: 'server', worker: 1 } as ProcessFacts;

/** A pulse on a fake clock, whose workers answer until they are told to be silent. */
function beating(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1_000_000 });
  const pulse = new Pulse();
  t.after(() => pulse.stop());
  function begin(id: string) {
    const worker = { asked: 0, silent: false, hungAfterS: [] as number[] };
    const ask = () => {
      worker.asked += 1;
      return worker.silent ? new Promise(() => {}) : Promise.resolve({ ...facts, requests: worker.asked });
    };
    pulse.begin({ id, link: { ask } as never, onHangs: (seconds) => worker.hungAfterS.push(seconds) });
    return worker;
  }
  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      t.mock.timers.tick(1_000);
      await Promise.resolve();
      await Promise.resolve();
    }
  }
  return { pulse, begin, pass };
}

test('each worker is asked at once, then every second, and seen with its last answer', async (t) => {
  const { pulse, begin, pass } = beating(t);
  const worker = begin('one');
  assert.deepEqual(pulse.seen(), [{ id: 'one', facts: null, seenMs: 1_000_000, over: false }]);
  await pass(30);
  assert.equal(worker.asked, 31);
  assert.deepEqual(worker.hungAfterS, []);
  assert.deepEqual(pulse.seen(), [{ id: 'one', facts: { ...facts, requests: 31 }, seenMs: 1_030_000, over: false }]);
});

test('a worker that leaves twenty seconds without an answer hangs; it is asked one question at a time', async (t) => {
  const { pulse, begin, pass } = beating(t);
  const [worker, other] = [begin('one'), begin('two')];
  await pass(5);
  worker.silent = true;
  const { asked } = worker;
  await pass(19);
  assert.deepEqual([worker.hungAfterS, worker.asked - asked], [[], 1]);
  await pass(11);
  assert.deepEqual(worker.hungAfterS, [20]);
  assert.deepEqual([other.hungAfterS, other.asked], [[], 36]);
  pulse.stop();
  await pass(5);
  assert.equal(other.asked, 36, 'at the end of the server nobody is asked');
});

test('workers that have ended are seen for a while, at most a hundred of them', async (t) => {
  const { pulse, begin, pass } = beating(t);
  begin('first');
  await pass(1);
  pulse.end('first');
  pulse.end('first');
  pulse.end('unknown');
  assert.deepEqual(
    pulse.seen().map(({ id, over, seenMs }) => [id, over, seenMs]),
    [['first', true, 1_001_000]],
  );
  for (let nth = 1; nth <= 100; nth++) {
    begin(`w${nth}`);
    pulse.end(`w${nth}`);
  }
  const ids = pulse.seen().map(({ id }) => id);
  assert.deepEqual([ids.length, ids[0], ids.at(-1)], [100, 'w1', 'w100']);
  begin('lives');
  await pass(600);
  assert.deepEqual(
    pulse.seen().map(({ id }) => id),
    ['lives'],
  );
});
