import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

test("efforts of Claude Code above the usual ones reach OpenAI's models that take them, and are high elsewhere", async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' };
  const names = ['gpt-5', 'gpt-5.1', 'gpt-5.1-codex-max', 'gpt-5.2-chat-latest', 'gpt-5.6-sol', 'gpt-6-astra', 'llama'];
  const gateway = await startGateway(t, {
    providers: {
      chat: { ...provider, dialects: ['openai-chat'] },
      responses: { ...provider, dialects: ['openai-responses'] },
    },
    models: Object.fromEntries(
      ['chat', 'responses'].flatMap((place) =>
        names.map((model) => [
          `${place}-${model}`,
          { targets: [{ provider: place, model }], capabilities: { reasoning: true } },
        ]),
      ),
    ),
  });
  /** What reaches the provider for `xhigh` and for `max`, and whether the header names it as left out. */
  async function sent(model: string) {
    const found: string[] = [];
    for (const effort of ['xhigh', 'max', 'medium']) {
      upstream.clear();
      const json = { model, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], output_config: { effort } };
      const answer = await gateway.fetch('/v1/messages', { json });
      assert.equal(answer.status, 200, await answer.text());
      const body = upstream.requests().at(-1)?.body as { reasoning_effort?: string; reasoning?: { effort: string } };
      const isTold = (answer.headers.get('x-culvert-dropped') ?? '').includes('output_config.effort');
      found.push(`${body.reasoning_effort ?? body.reasoning?.effort}${isTold ? ', told' : ''}`);
    }
    return found;
  }
  for (const place of ['chat', 'responses']) {
    const found: Record<string, string[]> = {};
    for (const name of names) found[name] = await sent(`${place}-${name}`);
    const high = ['high, told', 'high, told', 'medium'];
    assert.deepEqual(found, {
      'gpt-5': high,
      'gpt-5.1': high,
      'gpt-5.1-codex-max': ['xhigh', 'xhigh, told', 'medium'],
      'gpt-5.2-chat-latest': ['medium, told', 'medium, told', 'medium'],
      'gpt-5.6-sol': ['xhigh', 'xhigh, told', 'medium'],
      'gpt-6-astra': ['xhigh', 'max', 'medium'],
      llama: high,
    });
  }
});

test("OpenAI's models from GPT-5.1 on get no sampling while they reason, which they refuse, and keep it otherwise", async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' };
  const gateway = await startGateway(t, {
    providers: {
      chat: { ...provider, dialects: ['openai-chat'] },
      responses: { ...provider, dialects: ['openai-responses'] },
    },
    models: Object.fromEntries(
      ['chat', 'responses'].map((name) => [
        name,
        { targets: [{ provider: name, model: 'gpt-5.2' }], capabilities: { reasoning: true } },
      ]),
    ),
  });
  const messages = [{ role: 'user', content: 'Hi' }];
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
  const asks = (model: string, effort: 'low' | 'none', temperature: number): [string, object][] => [
    ['/v1/chat/completions', { model, messages, temperature, top_p: 1, reasoning_effort: effort }],
    ['/v1/responses', { model, input: 'Hi', temperature, top_p: 1, reasoning: { effort }, store: false }],
    ['/v1/messages', { model, messages, temperature, top_p: 1, max_tokens: 9, output_config: { effort } }],
    [
      `/v1beta/models/${model}:generateContent`,
      {
        contents,
        generationConfig: {
          ...{ temperature, topP: 1 },
          thinkingConfig: effort === 'none' ? { thinkingBudget: 0 } : { thinkingLevel: 'LOW' },
        },
      },
    ],
  ];
  for (const model of ['chat', 'responses']) {
    for (const [effort, temperature, kept] of [
      ['low', 0.4, {}],
      ['low', 1, {}],
      ['none', 0.4, { temperature: 0.4, top_p: 1 }],
    ] as const) {
      for (const [path, json] of asks(model, effort, temperature)) {
        // Messages have no word for it.
        if (path === '/v1/messages' && effort === 'none') continue;
        upstream.clear();
        const answer = await gateway.fetch(path, { json });
        const title = `${path} over ${model}, ${effort}, ${temperature}`;
        assert.equal(answer.status, 200, `${title}: ${await answer.text()}`);
        const sent = upstream.requests().at(-1)!.body as Record<string, unknown>;
        const { temperature: t1, top_p: t2 } = sent;
        assert.deepEqual(
          { ...(t1 !== undefined && { temperature: t1 }), ...(t2 !== undefined && { top_p: t2 }) },
          kept,
          title,
        );
        const dropped = answer.headers.get('x-culvert-dropped') ?? '';
        assert.equal(/temperature/.test(dropped), effort === 'low' && temperature !== 1, `${title}: ${dropped}`);
      }
    }
  }
});

test('models that reason at all times get no sampling, and an effort of null asks for no thoughts', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const always = ['gpt-5-codex', 'gpt-5-pro', 'gpt-5.1-codex-max', 'gpt-5.2-codex', 'gpt-5.2-pro-2025-12-11'];
  const gateway = await startGateway(t, {
    providers: { openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: Object.fromEntries([...always, 'gpt-5.2'].map((model) => [model, { targets: [`openai/${model}`] }])),
  });
  const ask = async (path: string, json: object) => {
    const answer = await gateway.fetch(path, { json: { ...json, temperature: 0.4 } });
    assert.equal(answer.status, 200, await answer.text());
    const { temperature } = upstream.requests().at(-1)!.body as Record<string, unknown>;
    return [temperature, answer.headers.get('x-culvert-dropped')];
  };
  const messages = [{ role: 'user', content: 'Hi' }];
  for (const model of always)
    assert.deepEqual(await ask('/v1/chat/completions', { model, messages }), [undefined, 'temperature'], model);
  const json = { model: 'gpt-5.2', input: 'Hi', store: false };
  assert.deepEqual(await ask('/v1/responses', { ...json, reasoning: { effort: null } }), [0.4, null]);
});

test("Groq's effort 'default' asks models of other providers for thoughts", async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
  const gateway = await startGateway(t, {
    providers: {
      claude: { type: 'anthropic', ...at },
      gemini: { type: 'gemini', base_url: `${upstream.url}/v1beta`, api_key: 'k' },
    },
    models: {
      claude: { targets: ['claude/claude-sonnet-4-5'], capabilities: { reasoning: true } },
      gemini: { targets: ['gemini/gemini-2.5-flash'], capabilities: { reasoning: true } },
    },
  });
  for (const model of ['claude', 'gemini']) {
    const ask = async (effort: string) => {
      const json = { model, max_tokens: 9_000, messages: [{ role: 'user', content: 'Hi' }], reasoning_effort: effort };
      const answer = await gateway.fetch('/v1/chat/completions', { json });
      assert.equal(answer.status, 200, await answer.text());
      return upstream.requests().at(-1)!.body;
    };
    assert.deepEqual(await ask('default'), await ask('medium'));
  }
});

test('efforts of chats become words that Ollama and SGLang take, which answer 400 to others', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const base_url = `${upstream.url}/v1`;
  const gateway = await startGateway(t, {
    providers: { ollama: { type: 'ollama', base_url }, sglang: { type: 'sglang', base_url } },
    models: { ollama: { targets: ['ollama/qwen3'] }, sglang: { targets: ['sglang/qwen3'] } },
  });
  for (const model of ['ollama', 'sglang']) {
    for (const [effort, word] of Object.entries({
      none: 'none',
      minimal: 'low',
      high: 'high',
      xhigh: 'high',
      max: 'max',
    })) {
      upstream.clear();
      const json = { model, messages: [{ role: 'user', content: 'Hi' }], reasoning_effort: effort };
      const answer = await gateway.fetch('/v1/chat/completions', { json });
      assert.equal(answer.status, 200, await answer.text());
      const { reasoning_effort } = upstream.requests().at(-1)!.body as { reasoning_effort?: string };
      const dropped = answer.headers.get('x-culvert-dropped');
      assert.deepEqual([reasoning_effort, dropped], [word, effort === word ? null : 'reasoning_effort'], effort);
    }
  }
});
