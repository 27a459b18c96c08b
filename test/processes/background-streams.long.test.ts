import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask, inOnly, overBoth, startProcesses } from './start-processes.ts';

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

/** An answer, whose first event may come long before its end. */
function follow(url: string, agent: Agent): { begun: Promise<unknown>; whole: Promise<string> } {
  const begun = Promise.withResolvers<unknown>();
  const whole = new Promise<string>((resolve, reject) => {
    const call = request(url, { agent, headers: { authorization: `Bearer ${testKey}` } }, (response) => {
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
