import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { test } from 'node:test';
import { testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { apart, ask, chat, embedded, inOnly, overBoth, startProcesses } from './start-processes.ts';

const frame = /^data: \{.*"sequence_number":(\d+)/gm;

overBoth('the stream of a response in the background comes as it runs, also by another worker', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.script('/v1/chat/completions', ['chunks=40;interval=500ms']);
  const gateway = await startProcesses(t, over, upstream.url);
  const [first, second] = gateway.workers() as [number, number];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  // A connection stays with its worker.
  await inOnly(first, () => follow(`${gateway.url}/healthz`, agent).whole);
  const body = { model: 'chat', input: 'Tell me more', background: true };
  const begun = await inOnly(second, () => ask(gateway.url, '/v1/responses', body));
  const { id } = JSON.parse(begun.text) as { id: string };
  const followed = follow(`${gateway.url}/v1/responses/${id}?stream=true&starting_after=1`, agent);
  await followed.begun;
  const { status } = JSON.parse((await ask(gateway.url, `/v1/responses/${id}`)).text) as { status: string };
  assert.equal(status, 'in_progress', 'it has an event before the end');
  const sequences = [...(await followed.whole).matchAll(frame)].map(([, sequence]) => Number(sequence));
  assert.deepEqual(
    sequences,
    sequences.map((_, at) => at + 2),
    'each event once, in order',
  );
  assert.ok(sequences.length > 40);
});

test('a response in the background is cancelled by another worker as by its own: its events stay, its place is free', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const plans = { default: { windows: 'off', rpm: 'off', concurrency: 3 } };
  const targets = [{ provider: 'up1', model: 'mock/delay=500ms' }];
  const models = {
    chat: { targets: [{ provider: 'up1', model: 'mock/chunks=1000;interval=50ms' }] },
    other: { targets },
  };
  const gateway = await startProcesses(t, embedded, upstream.url, { models, plans });
  const [one = 0, other = 0] = gateway.workers();
  const body = { model: 'chat', input: 'Tell me more', background: true };
  for (const [runs, cancels] of [
    [one, one],
    [one, other],
  ] as const) {
    const away = (worker: number) => (worker === one ? other : one);
    const begun = await inOnly(away(runs), () => ask(gateway.url, '/v1/responses', body));
    assert.equal(begun.status, 200, begun.text);
    const path = `/v1/responses/${(JSON.parse(begun.text) as { id: string }).id}`;
    // The first event comes with the first content.
    const followed = follow(`${gateway.url}${path}?stream=true`, apart);
    await followed.begun;
    // The other worker is not stopped: it may have to be asked.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await inOnly(away(cancels), () => follow(`${gateway.url}/healthz`, agent).whole);
    const cancelled = await follow(`${gateway.url}${path}/cancel`, agent, 'POST').whole;
    agent.destroy();
    assert.equal((JSON.parse(cancelled) as { status: string }).status, 'cancelled', cancelled);
    assert.match(await followed.whole, /^event: response.cancelled$/m);
    const all = [1, 2, 3].map(() => ask(gateway.url, '/v1/chat/completions', { ...chat, model: 'other' }));
    for (const { status, text } of await Promise.all(all)) assert.equal(status, 200, text);
    const { text } = await ask(gateway.url, `${path}?stream=true`);
    const types = [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type);
    assert.deepEqual([types[0], types.at(-1)], ['response.created', 'response.cancelled']);
    assert.ok(types.includes('response.output_text.delta'), text);
  }
});

/** An answer, whose first event may come long before its end. */
function follow(url: string, agent: Agent, method = 'GET'): { begun: Promise<unknown>; whole: Promise<string> } {
  const begun = Promise.withResolvers<unknown>();
  const whole = new Promise<string>((resolve, reject) => {
    const call = request(url, { agent, method, headers: { authorization: `Bearer ${testKey}` } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        if (piece.includes('data: ')) begun.resolve(null);
      });
      response.on('end', () => resolve(text)).on('error', reject);
    });
    call.on('error', reject).end();
  });
  return { begun: begun.promise, whole };
}
