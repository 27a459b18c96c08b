import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overUpstreams, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';

const largeCalls = 4;

test('F77 the thread of large bodies dies of its heap: they are 503 with Retry-After, and small ones go on', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const under = ['env', 'NODE_OPTIONS=--max-old-space-size=96'];
  const { url, lives } = await startGatewayProcess(t, overUpstreams(upstream.url), { under });
  // Millions of short members: parsed, 20 MB of them need ten times as much, twice what the heap has.
  const messages = Array.from({ length: 550_000 }, (_, at) => ({ role: 'user', content: `${at}` }));
  const body = JSON.stringify({ model: 'chat', messages });
  assert.ok(body.length > 18_000_000);
  const large = async () => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
      body,
    });
    const { error } = (await response.json()) as { error?: { message: string } };
    return { status: response.status, retryAfter: response.headers.get('retry-after'), message: error?.message ?? '' };
  };
  const lostIn = async () => {
    const sent = Array.from({ length: largeCalls }, large);
    for (let at = 0; at < 5; at++) assert.equal((await chatOnce(url)).status, 200);
    const answers = await Promise.all(sent);
    for (const { status, retryAfter, message } of answers)
      assert.ok(status === 200 || (status === 503 && Number(retryAfter) > 0), `${status} ${retryAfter} ${message}`);
    return answers.filter(({ message }) => message.includes('ran out of memory')).length;
  };
  // On a busy machine they may come one after the other, which the heap can stand.
  await until('a thread died', async () => (await lostIn()) > 0);
  assert.equal((await chatOnce(url)).status, 200);
  assert.ok(lives());
});
