import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

/* Options for what a provider does beside the answer: fill its cache, or run a response in its own time. */

const counts = { cached_tokens: 0, cache_write_tokens: 1_500 };
const usage = { input_tokens: 2_000, output_tokens: 0, total_tokens: 2_000, input_tokens_details: counts };
const empty = { id: 'resp_p', object: 'response', created_at: 1, model: 'gpt', status: 'completed', output: [], usage };

async function world(t: TestContext) {
  const sent: Record<string, unknown>[] = [];
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') return void response.end('{"data":[]}');
    const body = JSON.parse(await text(request)) as Record<string, unknown>;
    sent.push(body);
    response.setHeader('content-type', body.stream === true ? 'text/event-stream' : 'application/json');
    const frame = (type: string) => `event: ${type}\ndata: ${JSON.stringify({ type, response: empty })}\n\n`;
    response.end(
      body.stream === true ? frame('response.created') + frame('response.completed') : JSON.stringify(empty),
    );
  });
  const base_url = `${await listening(t, server)}/v1`;
  const gateway = await startGateway(t, {
    providers: {
      openai: { type: 'openai', base_url, api_key: 'k', dialects: ['openai-responses'] },
      claude: { type: 'anthropic', base_url, api_key: 'k' },
    },
    models: { gpt: { targets: ['openai/gpt'] }, claude: { targets: ['claude/claude'] } },
  });
  return { gateway, sent, ask: (json: object) => gateway.fetch('/v1/responses', { json }) };
}

test('a request that only fills a cache is sent once, and its empty answer is passed on', async (t) => {
  const { ask, sent } = await world(t);
  const warm = { model: 'gpt', input: 'Hi', prompt_cache_options: { prewarm: true } };
  const whole = await ask(warm);
  assert.deepEqual([whole.status, ((await whole.json()) as typeof empty).output], [200, []]);
  const streamed = await ask({ ...warm, stream: true });
  assert.deepEqual([streamed.status, /response\.completed/.test(await streamed.text())], [200, true]);
  assert.equal(sent.length, 2);
  // Others would answer, and be paid for it.
  const elsewhere = await ask({ ...warm, model: 'claude' });
  const { error } = (await elsewhere.json()) as { error: { param: string } };
  assert.deepEqual([elsewhere.status, error.param, sent.length], [400, 'prompt_cache_options.prewarm', 2]);
});

test('options of runs at the provider are named as dropped from a response that Culvert runs itself', async (t) => {
  const { ask, gateway, sent } = await world(t);
  const options = { background_options: { completion_window: '2h' } };
  const response = await ask({ model: 'gpt', input: 'Hi', background: true, ...options });
  assert.deepEqual([response.status, response.headers.get('x-culvert-dropped')], [200, 'background_options']);
  const { id } = (await response.json()) as { id: string };
  let status = '';
  while (!/completed|failed/.test(status)) {
    status = ((await (await gateway.fetch(`/v1/responses/${id}`)).json()) as { status: string }).status;
  }
  assert.equal('background_options' in sent[0]!, false);
});
