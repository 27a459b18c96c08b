import assert from 'node:assert/strict';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { assertWithin } from '../machine-load.ts';
import { startMessages } from '../prompt-cache/messages-upstream.ts';
import { startGateway } from '../start-gateway.ts';
import { questions, startModel } from './start-model.ts';

/* Texts that are made to break a guard: it reads them, and nobody gets a 500. */

const upstream = await startModel(after);
const claude = await startMessages({ after } as TestContext);
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    openai: { type: 'openai', base_url: upstream.url, api_key: 'k' },
    claude: { type: 'anthropic', base_url: `${claude.url}/v1`, api_key: 'k' },
  },
  guards: { mails: { check: 'personal-data', kinds: ['email'], action: 'mask' } },
  models: {
    guarded: { targets: [{ provider: 'openai', model: 'm' }], guards: ['mails'] },
    plain: { targets: [{ provider: 'openai', model: 'm' }] },
    claude: { targets: [{ provider: 'claude', model: 'claude-sonnet-4-5' }] },
  },
});
beforeEach(() => {
  upstream.bodies.length = 0;
  upstream.calls = null;
});

const nested = (levels: number) => `${'{"a":'.repeat(levels)}"jo@example.org"${'}'.repeat(levels)}`;

for (const levels of [60, 5_000, 50_000]) {
  test(`arguments of a tool with ${levels} levels are masked on their way in`, async () => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: nested(levels) } };
    const messages = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'ok' },
    ];
    const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'guarded', messages } });
    assert.equal(response.status, 200, await response.text());
    const sent = JSON.parse(upstream.bodies[0] ?? '').messages[1].tool_calls[0].function.arguments as string;
    assert.equal(sent.replace('<EMAIL_1>', 'jo@example.org'), nested(levels));
    assert.ok(!sent.includes('jo@example.org'));
    for (const model of ['plain', 'claude']) {
      const plain = await gateway.fetch('/v1/chat/completions', { json: { model, messages } });
      assert.ok(plain.status < 500, `${model}: ${await plain.text()}`);
    }
  });

  for (const format of Object.keys(questions)) {
    for (const stream of [false, true]) {
      test(`the same in an answer: ${levels} levels, ${format}, ${stream ? 'streamed' : 'whole'}`, async () => {
        upstream.calls = nested(levels);
        for (const model of ['guarded', 'plain']) {
          const [path, json] = questions[format]!(model, 'Call it.', stream);
          const response = await gateway.fetch(path, { json });
          const text = await response.text();
          assert.notEqual(response.status, 500, text);
          if (model === 'guarded') assert.ok(!text.includes('jo@example.org'), text.slice(-400));
        }
      });
    }
  }
}

const values = Array.from({ length: 20_000 }, (_, at) => `a${at}@example.org`);

test('twenty thousand values in arguments of a tool are masked at once', async () => {
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: JSON.stringify({ values }) } };
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c', content: 'ok' },
  ];
  const startedMs = performance.now();
  const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'guarded', messages } });
  assert.equal(response.headers.get('x-culvert-guard'), 'mails=masked:20000; scanned=100%');
  assertWithin(performance.now() - startedMs, 1_000);
  assert.ok(!upstream.bodies[0]?.includes('@example.org'));
});

test('thousands of names of members in an answer are masked at once', async () => {
  upstream.calls = JSON.stringify(Object.fromEntries(values.slice(0, 3_000).map((name) => [name, 1])));
  const messages = [{ role: 'user', content: 'x' }];
  const startedMs = performance.now();
  const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'guarded', messages } });
  const text = await response.text();
  assertWithin(performance.now() - startedMs, 1_000);
  assert.ok(text.includes('<EMAIL_3000>') && !text.includes('@example.org'));
});
