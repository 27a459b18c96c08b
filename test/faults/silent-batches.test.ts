import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unitVector } from '../../src/simulator/embed-vectors.ts';
import { assertNear, type Embedded, embeddingsPath, embedWorld, inputsOf, vectorOf } from '../contract/embed-world.ts';
import { testProcesses } from '../start-gateway.ts';

/** Of those that make the usual time of a target known, to each process: connections fall unevenly. */
const before = testProcesses > 1 ? 100 * testProcesses : 25;
/** Callers at once, on a connection each. */
const callers = testProcesses > 1 ? 20 : 1;

test('F63 embeddings in several calls, some of them silent: others make what is missing, and nothing counts twice', async (t) => {
  const { ask, first, second, record } = await embedWorld(t);
  const known = async () => assert.equal((await ask({ model: 'e', input: 'a' })).status, 200);
  for (let at = 0; at < before; at += callers) await Promise.all(Array.from({ length: callers }, known));
  const input = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'];
  const tokensOf = async (response: Response) => {
    const { data, usage } = (await response.json()) as Embedded;
    for (const [i, text] of input.entries()) assertNear(vectorOf(data[i]!.embedding), unitVector(text, 1_024), text);
    return usage.prompt_tokens;
  };
  const tokens = await tokensOf(await ask({ model: 'e', input }));
  first.clear();
  // One call is answered before the other target is asked, and one while that one works on it, too. On a busy machine calls
  // take long, and so does the wait before another is asked.
  first.script(embeddingsPath, ['ok', 'delay=7s', 'always hang']);
  second.script(embeddingsPath, ['2x delay=8s']);

  const response = await ask({ model: 'e', input });
  assert.equal(response.status, 200);
  // Partial answers of both are counted by us.
  const counted = await tokensOf(response);
  assert.ok(counted > tokens / 2 && counted <= tokens, `${counted} of ${tokens}`);
  // Both calls are made at once.
  assert.deepEqual(inputsOf(second).sort(), [
    ['six', 'seven', 'eight'],
    ['three', 'four', 'five'],
  ]);
  const { units, usage, route } = await record(response);
  assert.equal(units, 1);
  assert.equal(usage.input_tokens, counted);
  assert.deepEqual(
    route.attempts.map(({ class: end }) => end),
    ['cancelled', 'ok'],
  );
});
