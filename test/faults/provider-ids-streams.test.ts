import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { otherKey, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startObjectKeeper } from './object-keeper.ts';

/*
 * An id that a stream gave to account `dev` (a) serves it, however the stream ends and in whatever form a asked for it.
 */

type Json = Record<string, unknown>;

function over(url: string, more: Json = {}): Json {
  return {
    providers: { oa: { type: 'openai', base_url: `${url}/v1`, api_key: 'org-1', dialects: ['openai-responses'] } },
    models: { gpt: { targets: [{ provider: 'oa', model: 'gpt-5' }], ...more } },
  };
}

function ask(gateway: TestGateway, key: string, more: Json, signal?: AbortSignal): Promise<Response> {
  return fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt', input: 'Hi', ...more }),
    ...(signal !== undefined && { signal }),
  });
}

/** Gives a container in its first item, says a word, and no more while `hangs`; else it breaks off. */
async function startBrokenStreams(t: TestContext): Promise<{ url: string; hangs: boolean }> {
  const upstream = { url: '', hangs: false };
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const event = (type: string, members: Json) =>
        response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`);
      event('response.created', { response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [] } });
      const item = {
        id: 'ci_1',
        type: 'code_interpreter_call',
        status: 'completed',
        code: '1',
        container_id: 'cntr_1',
      };
      event('response.output_item.done', { output_index: 0, item });
      event('response.output_text.delta', { item_id: 'msg_1', output_index: 1, content_index: 0, delta: 'Well' });
      if (!upstream.hangs) setTimeout(() => response.destroy(), 20);
    });
  });
  const url = await listening(t, server);
  upstream.url = url;
  return upstream;
}

for (const by of ['provider', 'client'] as const) {
  test(`S25 what a stream gave serves its key when the ${by} breaks it off`, async (t) => {
    const upstream = await startBrokenStreams(t);
    const gateway = await startGateway(t, over(upstream.url));
    upstream.hangs = by === 'client';
    const leaving = new AbortController();
    const answer = await ask(gateway, testKey, { stream: true }, leaving.signal);
    let told = '';
    const read = async () => {
      for await (const chunk of answer.body!) {
        told += Buffer.from(chunk).toString();
        if (upstream.hangs && told.includes('Well')) leaving.abort();
      }
    };
    await read().catch(() => undefined);
    assert.match(told, /cntr_1/);
    upstream.hangs = false;
    const container = { stream: true, tools: [{ type: 'code_interpreter', container: 'cntr_1' }] };
    // A client that has gone is heard of a moment later.
    for (let tries = 0; ; tries++) {
      const { status, body } = await ask(gateway, testKey, container);
      await body?.cancel();
      if (status === 200) break;
      assert.ok(tries < 100, `its own container is ${status}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.equal((await ask(gateway, otherKey, container)).status, 404);
  });
}

test('S25 a response that was asked for as a stream is whole, and its ids serve whoever got it', async (t) => {
  const keeper = await startObjectKeeper(t);
  const plain = await startGateway(t, over(keeper.url));
  const gateway = await startGateway(t, over(keeper.url, { timeouts: { whole_by_stream: true } }));
  const like = (await (await ask(plain, testKey, {})).json()) as Json;
  const got = (await (await ask(gateway, testKey, {})).json()) as Json & { id: string; output: Json[] };
  assert.deepEqual(
    keeper.requests.map(({ body }) => (JSON.parse(body) as Json).stream ?? false),
    [false, true],
  );
  assert.deepEqual(Object.keys(got), Object.keys(like));
  assert.deepEqual(
    got.output.map(({ type }) => type),
    (like.output as Json[]).map(({ type }) => type),
  );
  const [thought, code, picture, said] = got.output;
  for (const more of [
    { previous_response_id: got.id },
    { input: [{ type: 'item_reference', id: said!.id }] },
    { input: [{ role: 'user', content: 'Hi' }, thought] },
    { input: [{ role: 'user', content: 'Hi' }, picture] },
    { tools: [{ type: 'code_interpreter', container: code!.container_id }] },
  ]) {
    assert.equal((await ask(gateway, testKey, more)).status, 200, JSON.stringify(more));
    assert.equal((await ask(gateway, otherKey, more)).status, 404, JSON.stringify(more));
  }
});
