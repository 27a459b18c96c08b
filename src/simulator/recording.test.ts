import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../test/fake-clock.ts';
import { createRecording, recordedBodyChars, recordedMax } from './recording.ts';

test('times come from the clock, headers with the same name are joined', () => {
  const clock = fakeClock(1_000);
  const recording = createRecording(clock);
  const exchange = recording.begin('/x', 'POST', ['A', '1', 'a', '2', '__proto__', '3']);
  recording.body(exchange, 'not JSON');
  clock.advance(7);
  recording.end(exchange, 'aborted');
  const [request] = recording.list(0);
  assert.equal(request?.headers.a, '1, 2');
  assert.deepEqual(
    [request?.body, request?.at_ms, request?.ended_ms, request?.aborted],
    ['not JSON', 1_000, 1_007, true],
  );
});

test('the newest are kept, in order', () => {
  const recording = createRecording(fakeClock());
  for (let at = 0; at < recordedMax + 3; at += 1) recording.begin(`/${at}`, 'GET', []);
  const listed = recording.list(0);
  assert.deepEqual([listed.length, listed[0]?.path, listed.at(-1)?.path], [recordedMax, '/3', `/${recordedMax + 2}`]);
});

test('large bodies are kept by their beginning, and all together within 64 MB', () => {
  const recording = createRecording(fakeClock());
  const large = 'x'.repeat(recordedBodyChars + 1);
  for (let at = 0; at < 1_100; at += 1) recording.body(recording.begin('/', 'POST', []), large);
  const lengths = recording.list(0).map((request) => String(request.body ?? '').length);
  assert.equal(lengths[0], recordedBodyChars);
  assert.equal(
    lengths.reduce((sum, length) => sum + length, 0),
    64 * 1024 * 1024,
  );
  recording.clear();
  recording.body(recording.begin('/', 'POST', []), large);
  assert.equal(String(recording.list(0)[0]?.body).length, recordedBodyChars);
});

test('what began before clear() does not come back', () => {
  const recording = createRecording(fakeClock());
  const old = recording.begin('/', 'POST', []);
  recording.clear();
  recording.body(old, 'late');
  recording.end(old, 'finished');
  assert.deepEqual(recording.list(0), []);
});

test('when() waits for a request that matches', async () => {
  const recording = createRecording(fakeClock());
  const waited = recording.when((request) => request.aborted);
  const first = recording.begin('/1', 'POST', []);
  recording.end(first, 'finished');
  recording.end(recording.begin('/2', 'POST', []), 'aborted');
  assert.equal((await waited).path, '/2');
  assert.equal((await recording.when((request) => request.path === '/1')).path, '/1');
});
