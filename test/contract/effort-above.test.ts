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
