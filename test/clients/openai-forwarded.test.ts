import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import OpenAI from 'openai';
import { listening } from '../listening.ts';
import { adminKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

async function world(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: {
      up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' },
      claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' },
    },
    models: {
      text: { targets: ['up/mock/ok'] },
      'omni-moderation-latest': { targets: ['up/mock/ok'] },
      claude: { targets: ['claude/mock/ok'] },
    },
  });
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });
  return { upstream, client };
}

test('openai: completions.create, whole, with several prompts’ worth of choices', async (t) => {
  const { client } = await world(t);
  const { data: answer, response } = await client.completions
    .create({ model: 'text', prompt: 'Once upon a time', n: 2, max_tokens: 64 })
    .withResponse();
  assert.deepEqual(
    answer.choices.map(({ index, text, finish_reason }) => [index, text.slice(0, 11), finish_reason]),
    [
      [0, 'Mock answer', 'stop'],
      [1, 'Mock answer', 'stop'],
    ],
  );
  assert.equal(answer.usage!.total_tokens, answer.usage!.prompt_tokens + answer.usage!.completion_tokens);
  assert.equal(response.headers.get('x-culvert-provider'), 'up');
});

test('openai: completions.create, streamed, its usage shown only when asked for', async (t) => {
  const { client } = await world(t);
  for (const asked of [true, false]) {
    const stream = await client.completions.create({
      model: 'text',
      prompt: 'Once upon a time',
      max_tokens: 64,
      stream: true,
      ...(asked && { stream_options: { include_usage: true } }),
    });
    let text = '';
    let usages = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.text ?? '';
      if (chunk.usage) usages++;
    }
    assert.equal(text, 'Mock answer to: Once upon a time');
    assert.equal(usages, asked ? 1 : 0);
  }
});

test('openai: a completion that is cut throws, and never ends as if it were whole', async (t) => {
  const { client, upstream } = await world(t);
  for (const fault of ['cut;chunks=5', 'eof;chunks=5', 'error=2;chunks=5']) {
    upstream.script('/v1/completions', [fault]);
    const stream = await client.completions.create({ model: 'text', prompt: 'Once', max_tokens: 64, stream: true });
    await assert.rejects(async () => {
      for await (const _ of stream);
    }, OpenAI.APIError);
  }
});

test('openai: leaving a completion early closes the upstream’s connection', async (t) => {
  const { client, upstream } = await world(t);
  upstream.script('/v1/completions', ['tokens=16;interval=50ms']);
  const stream = await client.completions.create({ model: 'text', prompt: 'Once', stream: true });
  for await (const _ of stream) break;
  await upstream.when(({ path, aborted }) => path === '/v1/completions' && aborted);
});

test('openai: moderations.create, with and without a model', async (t) => {
  const { client } = await world(t);
  const answer = await client.moderations.create({ input: ['a kind word', 'a [flag] word'] });
  assert.deepEqual(
    answer.results.map(({ flagged, categories }) => [flagged, categories.violence]),
    [
      [false, false],
      [true, true],
    ],
  );
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const;
  const mixed = await client.moderations.create({ model: 'text', input: [{ type: 'text', text: 'kind' }, picture] });
  assert.equal(mixed.results[0]!.flagged, false);
});

test('openai: decisions.create is answered by a provider of this format, and costs its tokens', async (t) => {
  const usage = {
    input_tokens: 40,
    input_tokens_details: { cached_tokens: 8, cache_write_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 45,
  };
  const decision = { answers: [{ type: 'predicate', name: 'angry', probability: 0.9 }], model: 'gpt-6-luna', usage };
  const asked: unknown[] = [];
  const server = createServer(async (request, response) => {
    if (request.url === '/v1/decisions') asked.push(await json(request));
    response.setHeader('content-type', 'application/json').end(JSON.stringify(decision));
  });
  const provider = { type: 'openai', base_url: `${await listening(t, server)}/v1`, api_key: 'upstream-secret' };
  const target = { provider: 'up', model: 'gpt-6-luna', price: { input: 1, output: 2 } };
  const claude = { type: 'anthropic', base_url: provider.base_url, api_key: 'k' };
  const gateway = await startGateway(t, {
    providers: { up: provider, claude },
    models: { judge: { targets: [target] }, claude: { targets: ['claude/claude-x'] } },
  });
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });
  const questions = [{ type: 'predicate', name: 'angry', instructions: 'The writer is angry.' }] as const;
  const body = { input: 'Where is my parcel?!', questions: [...questions] };
  const { data, response } = await client.decisions.create({ ...body, model: 'judge' }).withResponse();
  assert.deepEqual(data, decision);
  assert.deepEqual(asked, [{ ...body, model: 'gpt-6-luna' }]);
  const id = response.headers.get('x-culvert-request-id');
  const record = await gateway.fetch(`/admin/v1/requests/${id}`, { headers: { authorization: `Bearer ${adminKey}` } });
  const { endpoint, cost_usd, usage: counted } = (await record.json()) as Record<string, unknown>;
  const { input_tokens, output_tokens } = counted as Record<string, number>;
  assert.deepEqual([endpoint, cost_usd, input_tokens, output_tokens], ['decisions', 0.00005, 40, 5]);
  await assert.rejects(client.decisions.create({ ...body, model: 'claude' }), /'claude'.*\/v1\/decisions/);
  for (const [wrong, param] of [
    [{ input: null }, 'input'],
    [{ input: [5] }, 'input[0]'],
    [{ questions: [] }, 'questions'],
    [{ questions: ['angry?'] }, 'questions[0]'],
  ] as const) {
    const answer = await gateway.fetch('/v1/decisions', { json: { ...body, model: 'judge', ...wrong } });
    const { error } = (await answer.json()) as { error: { param: string } };
    assert.deepEqual([answer.status, error.param], [400, param]);
  }
  assert.equal(asked.length, 1);
});

test('openai: refusals of these endpoints are the classes that its users catch', async (t) => {
  const { client, upstream } = await world(t);
  await assert.rejects(client.completions.create({ model: 'nothing', prompt: 'x' }), OpenAI.NotFoundError);
  await assert.rejects(client.completions.create({ model: 'claude', prompt: 'x' }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.match(error.message, /'claude'.*\/v1\/completions/);
    return true;
  });
  upstream.script('/v1/moderations', ['status=400;message=No input']);
  await assert.rejects(client.moderations.create({ input: '' }), /No input/);
});
