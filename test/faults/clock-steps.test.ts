import assert from 'node:assert/strict';
import { once } from 'node:events';
import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { otherKey, overUpstreams, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { type Asked, ask, booksOf } from './books-balance.ts';
import { startGatewayProcess } from './gateway-process.ts';

const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1');
const hourMs = 3_600_000;
const minuteMs = 60_000;
/** What is rounded of an instant. */
const slackMs = 1_000;
/** A request of the last minute counts until the end of its second has left it. */
const minuteBucketMs = 1_000;
const triesMax = 4;

test('F28 the clock is set back an hour and forward an hour while it runs: no false 429, nothing free beyond the step', {
  skip: library === undefined ? 'libfaketime is not installed (npm run setup:test-tools)' : false,
}, async (t) => {
  // A virtual machine that was stopped for a while sets its wall clock when it goes on: a step that nobody here made.
  for (let tried = 1; ; tried += 1) {
    const aheadMs = wallAheadMs();
    try {
      return await measure(t);
    } catch (error) {
      const stepMs = wallAheadMs() - aheadMs;
      if (tried === triesMax || Math.abs(stepMs) < slackMs) throw error;
      t.diagnostic(`measured again, as the machine's clock moved by ${stepMs.toFixed(0)} ms`);
    }
  }
});

/** Milliseconds by which the wall clock has moved against the monotonic one since this process began. */
function wallAheadMs(): number {
  return Date.now() - performance.timeOrigin - performance.now();
}

async function measure(t: TestContext): Promise<void> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const folder = temporaryFolder(t);
  const stamp = join(folder, 'stamp');
  let offsetMs = 0;
  const setClock = (toMs: number) => {
    offsetMs = toMs;
    writeFileSync(stamp, `${toMs < 0 ? '-' : '+'}${Math.abs(toMs) / 1_000}\n`);
  };
  setClock(0);
  const faked = ['DONT_FAKE_MONOTONIC=1', 'NO_CACHE=1', `TIMESTAMP_FILE=${stamp}`].map((one) => `FAKETIME_${one}`);
  const config = {
    ...overUpstreams(upstream.url),
    storage: { data_dir: join(folder, 'data') },
    plans: { default: { windows: { '5h': 10 }, rpm: 'off' }, calm: { rpm: 5 } },
    accounts: { calm: { plan: 'calm' } },
    keys: [
      { key: testKey, account: 'dev', name: 'one' },
      { key: otherKey, account: 'calm', name: 'one' },
    ],
  };
  const start = () => startGatewayProcess(t, config, { under: ['env', `LD_PRELOAD=${library}`, ...faked] });
  let { url, process: gateway } = await start();
  const passing = async (tries: number, key = testKey) => {
    let passed = 0;
    for (let i = 0; i < tries; i++) if ((await ask(url, {}, key)).status === 200) passed += 1;
    return passed;
  };
  /** Until this request passes, by the clock of the gateway and its readers. */
  const waitMs = async (asked: () => Promise<Asked>, limit: string) => {
    const askedMs = performance.now();
    const { status, text } = await asked();
    assert.equal(status, 429, text);
    const { error } = JSON.parse(text);
    assert.equal(error.limit, limit);
    const byInstantMs = Date.parse(error.resets_at) - (Date.now() + offsetMs);
    const tookMs = performance.now() - askedMs;
    const apartMs = Math.abs(byInstantMs - error.retry_after_ms);
    assert.ok(apartMs < tookMs + slackMs, `${error.resets_at}, ${error.retry_after_ms}, after ${tookMs} ms`);
    return byInstantMs;
  };
  const resetsIn = async (ms: number) => {
    const foundMs = await waitMs(() => ask(url), '5h');
    // A bucket of the window, and what has passed since the first request.
    const boundMs = minuteMs + (performance.now() - firstMs) + slackMs;
    assert.ok(Math.abs(foundMs - ms) < boundMs, `resets in ${foundMs} ms instead of ${ms}`);
  };

  const firstMs = performance.now();
  assert.equal(await passing(11), 10);
  await resetsIn(5 * hourMs);
  assert.equal(await passing(3, otherKey), 3);

  setClock(-hourMs);
  await resetsIn(5 * hourMs);
  // A machine that took a minute for it has begun another minute of the limit.
  const isFirstMinute = () => performance.now() - firstMs < minuteMs;
  const [passed, wasFirst] = [await passing(3, otherKey), isFirstMinute()];
  assert.ok(passed === 2 || !wasFirst, `${passed}: calls of this minute are still of this minute, and no others`);
  if (isFirstMinute()) {
    const askedMs = performance.now();
    const calmMs = await waitMs(() => ask(url, {}, otherKey), 'minute');
    // The gateway reads the two clocks one after the other, and a busy machine may stop it in between.
    const tookMs = performance.now() - askedMs;
    const boundMs = minuteMs + minuteBucketMs + slackMs + tookMs;
    assert.ok(calmMs > 0 && calmMs <= boundMs, `${calmMs} ms, after ${tookMs} ms`);
  }

  gateway.kill('SIGKILL');
  await once(gateway, 'exit');
  ({ url, process: gateway } = await start());
  await resetsIn(5 * hourMs);

  setClock(hourMs);
  await resetsIn(4 * hourMs);
  const stepMs = performance.now();
  assert.equal(await passing(6, otherKey), 5, 'the step frees a minute');

  setClock(0);
  await resetsIn(4 * hourMs);
  const { status } = await ask(url, {}, otherKey);
  assert.ok(status === 429 || performance.now() - stepMs >= minuteMs, `${status}`);

  setClock(5 * hourMs + 2 * minuteMs);
  assert.equal(await passing(12), 10, 'all of it came back, and no more');
  await resetsIn(5 * hourMs);
  setClock(0);
  await resetsIn(5 * hourMs);
  const { units, windows, open } = await booksOf(url);
  assert.deepEqual([units, windows['5h'], windows.week, open], [20, 10, 20, 0]);
}
