import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { rawUpstream } from './raw-upstream.ts';

interface Hollow {
  name: string;
  type: 'text/event-stream' | 'application/json';
  body: string;
}

const chunk = (delta: object, finish: string | null, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
const done = 'data: [DONE]\n\n';
const hi = chunk({ role: 'assistant', content: 'Hi' }, null);
const counts = '{"prompt_tokens":-5,"completion_tokens":1e300,"total_tokens":3}';
const streamOf = (name: string, ...frames: string[]): Hollow => ({
  name,
  type: 'text/event-stream',
  body: frames.join(''),
});
const wholeOf = (name: string, message: object, usage: string): Hollow => ({
  name,
  type: 'application/json',
  body: JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
    usage: 0,
  }).replace('"usage":0', `"usage":${usage}`),
});

const paths = ['/v1/chat/completions', '/v1/messages'] as const;

async function asked(t: TestContext, cases: readonly Hollow[]) {
  const url = await rawUpstream(t, (i) => ({ type: cases[i]!.type, body: Buffer.from(cases[i]!.body) }));
  const spare = await startUpstream();
  t.after(() => spare.close());
  const gateway = await startGateway(t, {
    providers: {
      ...Object.fromEntries(
        cases.map((_, i) => [`hollow${i}`, { type: 'openai', base_url: `${url}/${i}`, api_key: 'x' }]),
      ),
      good: { type: 'openai', base_url: `${spare.url}/v1`, api_key: 'y' },
    },
    models: Object.fromEntries(
      cases.map((_, i) => [
        `case-${i}`,
        {
          targets: [
            { provider: `hollow${i}`, model: 'm', priority: 1 },
            { provider: 'good', model: 'gpt-x', priority: 2 },
          ],
        },
      ]),
    ),
  });
  return async (index: number, path: (typeof paths)[number]) => {
    const stream = cases[index]!.type === 'text/event-stream';
    const response = await gateway.fetch(path, {
      json: {
        model: `case-${index}`,
        stream,
        max_tokens: 50,
        messages: [{ role: 'user', content: 'Hello' }],
        ...(stream && path === paths[0] && { stream_options: { include_usage: true } }),
      },
    });
    const text = await response.text();
    const record = await gateway.fetch(`/v1/requests/${response.headers.get('x-culvert-request-id')}`);
    const { usage } = (await record.json()) as {
      usage: { source: string; input_tokens: number; output_tokens: number };
    };
    return { status: response.status, provider: response.headers.get('x-culvert-provider'), text, usage };
  };
}

test('an answer that says nothing, and for which nothing is counted, is asked of the next target', async (t) => {
  const cases = [
    streamOf('finished, without a word', chunk({ role: 'assistant', content: '' }, 'stop'), done),
    streamOf('[DONE] alone', done),
    streamOf('begun, then [DONE]', chunk({ role: 'assistant', content: '' }, null), done),
    wholeOf('empty text', { content: '' }, '{"prompt_tokens":1,"completion_tokens":0,"total_tokens":1}'),
    wholeOf('null', { content: null }, 'null'),
  ];
  const ask = await asked(t, cases);
  for (const [index, { name }] of cases.entries()) {
    for (const path of paths) {
      const { status, provider, text } = await ask(index, path);
      assert.deepEqual([status, provider], [200, 'good'], `${name}, ${path}`);
      assert.match(text, /[A-Za-z]{3}/);
    }
  }
});

test('an answer without content whose tokens are counted, or that says why, is the model’s own', async (t) => {
  const cases = [
    wholeOf('counted', { content: '' }, '{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}'),
    streamOf('cut at its limit', chunk({ role: 'assistant', content: '' }, 'length'), done),
    streamOf('withheld', chunk({ role: 'assistant', content: '' }, 'content_filter'), done),
  ];
  const ask = await asked(t, cases);
  for (const [index, { name }] of cases.entries()) {
    for (const path of paths) {
      const { status, provider } = await ask(index, path);
      assert.deepEqual([status, provider], [200, `hollow${index}`], `${name}, ${path}`);
    }
  }
});

test('counts that no request can have reach neither callers nor books: ours do, marked as counted', async (t) => {
  const cases = [
    wholeOf('whole', { content: 'Hi' }, counts),
    streamOf('with the finish', hi, chunk({}, 'stop', { usage: 0 }).replace('"usage":0', `"usage":${counts}`), done),
    streamOf(
      'in a chunk of its own',
      hi,
      chunk({}, 'stop'),
      `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":${counts}}\n\n`,
      done,
    ),
  ];
  const ask = await asked(t, cases);
  for (const [index, { name }] of cases.entries()) {
    for (const path of paths) {
      const { status, provider, text, usage } = await ask(index, path);
      assert.deepEqual([status, provider], [200, `hollow${index}`], `${name}, ${path}`);
      assert.doesNotMatch(text, /-5|1e\+?300/, `${name}, ${path}`);
      assert.deepEqual([usage.source, usage.output_tokens], ['counted', 1]);
      assert.ok(usage.input_tokens > 0 && usage.input_tokens < 100);
      if (path !== paths[0]) continue;
      const told = JSON.parse(/"usage":(\{[^{}]*\})/.exec(text)![1]!) as Record<string, number>;
      assert.deepEqual(told, {
        prompt_tokens: usage.input_tokens,
        completion_tokens: 1,
        total_tokens: usage.input_tokens + 1,
      });
    }
  }
});

test('[DONE] without a finish reason, and a line that cannot be read, end in an error and not as if whole', async (t) => {
  const cases = [
    streamOf('no finish reason', hi, done),
    streamOf('a line that is cut', hi, 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"x"\n\n', done),
  ];
  const ask = await asked(t, cases);
  for (const [index, { name }] of cases.entries()) {
    const { text } = await ask(index, paths[0]);
    assert.match(text, /"error":\{/, name);
    assert.doesNotMatch(text, /\[DONE\]/, name);
  }
  const { text } = await ask(0, paths[1]);
  assert.match(text, /event: error/);
  assert.doesNotMatch(text, /message_stop/);
});
