import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { closedPort, launch, runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

interface Measured {
  requests: number;
  failed: number;
  ms: { p50: number; p95: number; p99: number; max: number } | null;
  first_token_ms: { p50: number } | null;
  outcomes: { outcome: string; count: number; message: string | null }[];
}

describe('culvert bench', { concurrency: true }, () => {
  test('sends as many requests as told after saying so, with the key, and counts them', async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    const ran = await runCommand(
      ['bench', `${upstream.url}/v1`, '--model', 'm', '--requests', '30', '--concurrency', '4', '--max-tokens', '7'],
      { cwd: temporaryFolder(t), env: { CULVERT_API_KEY: 'canary-key' } },
    );
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(
      ran.stderr,
      /asks m at http:\S+ for at most 7 tokens, and costs[\s\S]*30 requests follow, 4 at a time/,
    );
    assert.doesNotMatch(ran.stdout + ran.stderr, /canary-key/);
    const measured = JSON.parse(ran.stdout) as Measured;
    assert.deepEqual([measured.requests, measured.failed], [30, 0]);
    assert.ok(measured.ms!.p50 <= measured.ms!.p95 && measured.ms!.p99 <= measured.ms!.max);
    assert.equal(measured.first_token_ms, null);
    const requests = upstream.requests();
    // One before all others finds out whether it works at all.
    assert.equal(requests.length, 31);
    assert.equal(requests[0]!.headers.authorization, 'Bearer canary-key');
  });

  test('Ctrl-C before the first answer ends it as everywhere', async (t) => {
    const upstream = await startUpstream({ faults: 'text=Hello;stall=1events' });
    t.after(() => upstream.close());
    const env = { CULVERT_API_KEY: 'canary-key' };
    const bench = launch(t, ['bench', upstream.url, '--model', 'm', '--stream'], { env });
    await upstream.when(({ path }) => path === '/v1/chat/completions');
    bench.child.kill('SIGINT');
    assert.deepEqual(await bench.exited, { code: 130, signal: null });
    assert.doesNotMatch(bench.stderr(), /failed/);
  });

  test('tells the time to the first token of streams, and a stream that is cut from one that ended', async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    upstream.script('/v1/chat/completions', ['ok', 'ok', 'eof', 'interval=5ms']);
    const args = ['bench', upstream.url, '--model', 'm', '--requests', '3', '--concurrency', '1', '--stream'];
    const ran = await runCommand([...args, '--key', 'k'], { cwd: temporaryFolder(t) });
    assert.equal(ran.code, 0, ran.stderr);
    const { failed, outcomes, first_token_ms } = JSON.parse(ran.stdout) as Measured;
    assert.equal(failed, 1);
    assert.deepEqual(
      outcomes.map(({ outcome, count }) => [outcome, count]),
      [
        ['200', 2],
        ['cut', 1],
      ],
    );
    assert.ok(first_token_ms!.p50 >= 0);
  });

  test('ends after the time it was given, and counts errors by status with what they said', async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    upstream.script('/v1/chat/completions', ['ok', 'status=429;message=slow down', 'reset']);
    const args = ['bench', upstream.url, '--model', 'm', '--duration', '200ms', '--concurrency', '2', '--key', 'k'];
    const ran = await runCommand(args, { cwd: temporaryFolder(t) });
    assert.equal(ran.code, 0, ran.stderr);
    const { outcomes } = JSON.parse(ran.stdout) as Measured;
    assert.deepEqual(
      outcomes
        .filter(({ outcome }) => outcome !== '200')
        .map(({ outcome, count, message }) => [outcome, count, message])
        .sort(),
      [
        ['429', 1, 'slow down'],
        ['ECONNRESET', 1, null],
      ],
    );
  });

  test('says in one sentence what is wrong before it sends a thousand requests', async (t) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    upstream.script('/v1/chat/completions', ['status=401;message=who are you']);
    const cwd = temporaryFolder(t);
    const bench = (...args: string[]) => runCommand(['bench', ...args], { cwd });
    const refused = await bench(upstream.url, '--model', 'm', '--key', 'k');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /The first request failed: 401 who are you\n$/);
    assert.equal(upstream.requests().length, 1);
    assert.match((await bench(upstream.url, '--model', 'm')).stderr, /No key is set/);
    assert.equal((await bench('nonsense', '--model', 'm', '--key', 'k')).code, 2);
    const both = await bench(upstream.url, '--key', 'k', '--requests', '1', '--duration', '1s');
    assert.deepEqual([both.code, both.stderr], [2, 'Give --requests or --duration, not both.\n']);
    const nobody = await bench(`http://127.0.0.1:${await closedPort()}`, '--model', 'm', '--key', 'k');
    assert.match(nobody.stderr, /failed: ECONNREFUSED/);
  });
});
