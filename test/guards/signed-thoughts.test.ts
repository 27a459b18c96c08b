import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway, testKey } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * Loops over a model whose thoughts are signed, while guards change texts: its provider refuses a thought that is not as
 * it was signed, as Anthropic does.
 */

const t = { after } as TestContext;
const upstream = await startUpstream();
after(upstream.close);
const mcp = await startMcpServer(t, { tools: ['lookup'] });
const folder = temporaryFolder(t);
function hook(name: string, code: string) {
  const module = join(folder, `${name}.mjs`);
  writeFileSync(module, `export default { version: 1, ${code} };`);
  return { module, models: [name], deadline: '10s' };
}
const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const target = { provider: 'claude', model: 'claude-sonnet-4-5' };
const emails = { check: 'personal-data', kinds: ['email'] };
const guards = {
  both: { ...emails, action: 'mask' },
  requests: { ...emails, action: 'mask', on: ['input'] },
  flags: { ...emails, action: 'flag' },
};
const changes =
  '({ texts }) => ({ texts: texts.map(({ text }, at) => ({ at, text: text.replaceAll("Ask", "ask") })) })';
const gateway = await startGateway(t, {
  providers: {
    claude: { type: 'anthropic', ...at, server_tools: [] },
    openai: { type: 'openai', ...at },
  },
  fetch: { allow_private: [mcp.place] },
  guards,
  hooks: {
    answers: hook('answers', `onAnswer: ${changes}`),
    events: hook('events', `onEvent: ${changes}`),
    before: hook('before', `onRequest: ${changes}`),
  },
  models: {
    ...Object.fromEntries(['none', 'answers', 'events', 'before'].map((name) => [name, { targets: [target] }])),
    ...Object.fromEntries(Object.keys(guards).map((name) => [name, { targets: [target], guards: [name] }])),
    chat: { targets: ['openai/mock/ok'], guards: ['both'] },
  },
});
const apiKey = testKey;
const anthropic = new Anthropic({ apiKey, baseURL: gateway.url, maxRetries: 0 });
const openai = new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });

const schema = { type: 'object', properties: { city: { type: 'string' } } };
const question = 'Please call find for jo@example.org';

/** One format of callers: its request, an answer streamed by a client, and the turns that an answer adds. */
interface Caller {
  first: JsonObject[];
  order(model: string, turns: readonly JsonObject[]): [path: string, body: JsonObject];
  streamed(path: string, body: JsonObject): Promise<unknown>;
  turns(answer: JsonObject): JsonObject[];
}

const callers: Record<string, Caller> = {
  messages: {
    first: [{ role: 'user', content: question }],
    order: (model, messages) => [
      '/v1/messages',
      {
        ...{ model, max_tokens: 4_000, messages: [...messages], thinking: { type: 'enabled', budget_tokens: 1_024 } },
        tools: [{ name: 'find', input_schema: schema }],
      },
    ],
    streamed: (_, body) => anthropic.messages.stream(body as never).finalMessage(),
    turns({ content }) {
      const call = (content as JsonObject[]).find(({ type }) => type === 'tool_use')!;
      const result = { type: 'tool_result', tool_use_id: call.id!, content: 'ok' };
      return [
        { role: 'assistant', content: content! },
        { role: 'user', content: [result] },
      ];
    },
  },
  chat: {
    first: [{ role: 'user', content: question }],
    order: (model, messages) => [
      '/v1/chat/completions',
      {
        ...{ model, messages: [...messages], reasoning_effort: 'low', max_completion_tokens: 4_000 },
        tools: [{ type: 'function', function: { name: 'find', parameters: schema } }],
      },
    ],
    streamed: (_, body) => openai.chat.completions.stream(body as never).finalChatCompletion(),
    turns({ choices }) {
      const { message } = (choices as JsonObject[])[0]! as { message: JsonObject };
      const [call] = message.tool_calls as JsonObject[];
      return [message, { role: 'tool', tool_call_id: call!.id!, content: 'ok' }];
    },
  },
  responses: {
    first: [{ role: 'user', content: question }],
    order: (model, input) => [
      '/v1/responses',
      {
        ...{ model, store: false, input: [...input], reasoning: { effort: 'low', summary: 'auto' } },
        include: ['reasoning.encrypted_content'],
        tools: [{ type: 'function', name: 'find', parameters: schema }],
      },
    ],
    streamed: (_, body) => openai.responses.stream(body as never).finalResponse(),
    turns({ output }) {
      const call = (output as JsonObject[]).find(({ type }) => type === 'function_call')!;
      return [...(output as JsonObject[]), { type: 'function_call_output', call_id: call.call_id!, output: 'ok' }];
    },
  },
  gemini: {
    first: [{ role: 'user', parts: [{ text: question }] }],
    order: (model, contents) => [
      `/v1beta/models/${model}:generateContent`,
      {
        contents: [...contents],
        tools: [{ functionDeclarations: [{ name: 'find', parametersJsonSchema: schema }] }],
        generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 1_024 }, maxOutputTokens: 4_000 },
      },
    ],
    async streamed(path, json) {
      const response = await gateway.fetch(`${path.replace(':generate', ':streamGenerate')}?alt=sse`, { json });
      const events = Array.from((await response.text()).matchAll(/^data: (.*)$/gm), ([, data = '']) =>
        JSON.parse(data),
      );
      const parts = events.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
      return { candidates: [{ content: { role: 'model', parts } }] };
    },
    turns({ candidates }) {
      const { content } = (candidates as JsonObject[])[0]! as { content: JsonObject };
      const call = (content.parts as JsonObject[]).find(({ functionCall }) => functionCall !== undefined)!
        .functionCall as JsonObject;
      const functionResponse = { id: call.id!, name: 'find', response: { result: 'ok' } };
      return [content, { role: 'user', parts: [{ functionResponse }] }];
    },
  },
};

type Form = 'whole' | 'streamed';
const forms = ['whole', 'streamed'] as const;

async function ask(caller: Caller, model: string, turns: readonly JsonObject[], spec: string, form: Form) {
  upstream.script('/v1/messages', [spec]);
  const [path, json] = caller.order(model, turns);
  if (form === 'streamed') return JSON.parse(JSON.stringify(await caller.streamed(path, json))) as JsonObject;
  const response = await gateway.fetch(path, { json });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text) as JsonObject;
}

const sent = () => upstream.requests().findLast(({ body }) => body !== null)!.body as JsonObject;
const thoughtsSent = () => JSON.stringify(sent()).match(/"type":"thinking","thinking":"[^"]*/g) ?? [];

/** A call of a tool, and what goes to the provider with its result. */
async function loop(caller: Caller, model: string, spec: string, form: Form) {
  const first = await ask(caller, model, caller.first, spec, form);
  await ask(caller, model, [...caller.first, ...caller.turns(first)], 'think=Fine.;text=Done.', form);
  const { thinking } = sent() as { thinking?: { type: string } };
  const pieces = Array.from(JSON.stringify(first).matchAll(/"text":"([^"]*)"/g), ([, text]) => text);
  return {
    first: `${JSON.stringify(first)} ${pieces.join('')}`,
    thoughts: thoughtsSent(),
    thinks: thinking?.type === 'enabled',
  };
}

const invented = 'think=Ask%20max%40example.org%20first.;call=find';
const restored = 'think=They%20gave%20%3CEMAIL_1%3E%20to%20me.;call=find';
const withThought = (thought: string) => [`"type":"thinking","thinking":"${thought}`];

for (const [name, caller] of Object.entries(callers)) {
  for (const form of forms) {
    test(`${name}, ${form}: a thought in which a value stays masked goes back to nobody, and the loop goes on`, async () => {
      const { first, thoughts, thinks } = await loop(caller, 'both', invented, form);
      // OpenAI's client keeps the last piece of a member that it does not know.
      if (name !== 'chat' || form === 'whole') assert.match(first, /Ask <EMAIL_2> first/);
      assert.doesNotMatch(first, /max@example|c2ltdWxhdGVk/);
      assert.deepEqual([thoughts, thinks], [[], false]);
    });

    test(`${name}, ${form}: a thought with a value of the caller's goes back as it was signed`, async () => {
      const { first, thoughts, thinks } = await loop(caller, 'both', restored, form);
      assert.match(first, /They gave jo@example\.org to me/);
      assert.deepEqual([thoughts, thinks], [withThought('They gave <EMAIL_1> to me.'), true]);
    });

    test(`${name}, ${form}: a signed thought that a guard of requests alone would change is left out`, async () => {
      const { first, thoughts, thinks } = await loop(caller, 'requests', invented, form);
      assert.match(first, /Ask max@example\.org first/);
      assert.deepEqual([thoughts, thinks], [[], false]);
    });

    for (const model of ['flags', 'none']) {
      test(`${name}, ${form}: nothing changes a thought, and its proof stays the provider's (${model})`, async () => {
        const { first, thoughts, thinks } = await loop(caller, model, invented, form);
        if (name !== 'gemini' && name !== 'responses') assert.match(first, /"signature":"c2ltdWxhdGVk/);
        assert.deepEqual([thoughts, thinks], [withThought('Ask max@example.org first.'), true]);
      });
    }

    for (const model of ['answers', 'events', 'before']) {
      test(`${name}, ${form}: a thought that a hook changed goes back to nobody (${model})`, async () => {
        const { first, thoughts, thinks } = await loop(caller, model, invented, form);
        assert.match(first, model === 'before' ? /Ask max/ : /ask max/);
        assert.deepEqual([thoughts, thinks], [[], false]);
      });
    }
  }
}

test('a thought of which a hook changed only the first sentence has no proof', async () => {
  const spec = `${invented.replace('first.', 'first.%20Then%20look%20at%20it.')};slow-reasoning=200ms`;
  const { first, thoughts } = await loop(callers.messages!, 'events', spec, 'streamed');
  assert.match(first, /ask max@example\.org first\. Then look at it\./);
  assert.doesNotMatch(first, /c2ltdWxhdGVk/);
  assert.deepEqual(thoughts, []);
});

test('a thought whose word stands for another value in the next turn is left out', async () => {
  const messages = callers.messages!;
  const system = 'Write to ann@example.org or to bob@example.org.';
  const order: Caller['order'] = (model, turns) => {
    const [path, body] = messages.order(model, turns);
    return [path, { ...body, system }];
  };
  const first: JsonObject[] = [{ role: 'user', content: 'Please call find' }];
  const spec = 'think=It%20is%20%3CEMAIL_2%3E.;call=find';
  const { first: answer, thoughts, thinks } = await loop({ ...messages, first, order }, 'both', spec, 'whole');
  assert.match(answer, /It is bob@example\.org\./);
  assert.deepEqual([thoughts, thinks], [[], false]);
});

test('the header names a thought that was left out, and thinking that is off for this turn', async () => {
  const caller = callers.messages!;
  const first = await ask(caller, 'both', caller.first, invented, 'whole');
  const [path, json] = caller.order('both', [...caller.first, ...caller.turns(first)]);
  const context_management = { edits: [{ type: 'clear_thinking_20251015' }, { type: 'clear_tool_uses_20250919' }] };
  const { headers, status } = await gateway.fetch(path, { json: { ...json, context_management } });
  assert.deepEqual([status, headers.get('x-culvert-dropped')], [200, 'messages.thinking, thinking']);
  assert.deepEqual(sent().context_management, { edits: [{ type: 'clear_tool_uses_20250919' }] });
});

for (const [what, spec, text] of [
  ['that stays masked', invented, null],
  ['of the caller', restored, 'They gave <EMAIL_1> to me.'],
] as const) {
  test(`tools of this server run between signed thoughts: with a value ${what}`, async () => {
    upstream.script('/v1/messages', [spec.replace('call=find', 'call=sums__lookup'), 'think=Fine.;text=Done.']);
    const server = { type: 'mcp', server_label: 'sums', server_url: mcp.url, require_approval: 'never' };
    const [path, body] = callers.responses!.order('both', callers.responses!.first);
    const response = await gateway.fetch(path, { json: { ...body, tools: [server] } });
    const answer = await response.text();
    assert.equal(response.status, 200, answer);
    assert.match(answer, /Done\./);
    assert.deepEqual(thoughtsSent(), text === null ? [] : withThought(text));
  });
}

const thought = 'I write to jo@example.org.';
const signature = 'c2ltdWxhdGVkAAAA';
const asked = { role: 'user', content: 'Hello' };
const chatWith = (more: object) => ({
  model: 'both',
  max_completion_tokens: 4_000,
  messages: [asked, { role: 'assistant', content: 'Hi', ...more }, { role: 'user', content: 'Go on' }],
});
const pieces = [
  { text: 'I write to jo@example', thought: true },
  { text: '.org. Or jo@example.org?', thought: true },
];
const proof = Buffer.from(`culvert:anthropic-messages:${signature}`).toString('base64');
const sealed = `culvert.anthropic-messages.${Buffer.from(signature).toString('base64url')}`;
const sdkSays = (...content: object[]) => ({ role: 'assistant', content });
const sdkAsks = { role: 'user', content: [{ type: 'text', text: 'Hello' }] };
/** Histories of clients in their forms, which a guard of requests changes. */
const histories: Record<string, [path: string, body: object, headers?: Record<string, string>]> = {
  "OpenRouter's clients": [
    '/v1/chat/completions',
    chatWith({
      reasoning_details: [{ type: 'reasoning.text', text: thought, signature, format: 'anthropic-claude-v1' }],
    }),
  ],
  "LiteLLM's clients": [
    '/v1/chat/completions',
    chatWith({ thinking_blocks: [{ type: 'thinking', thinking: thought, signature }] }),
  ],
  "Google's clients, with a stream's pieces": [
    '/v1beta/models/both:generateContent',
    {
      contents: [
        { role: 'user', parts: [{ text: 'Hello' }] },
        { role: 'model', parts: [...pieces, { text: '', thought: true, thoughtSignature: proof }, { text: 'Hi' }] },
        { role: 'user', parts: [{ text: 'Go on' }] },
      ],
    },
  ],
  "AWS's clients": [
    '/model/both/converse',
    {
      messages: [
        { role: 'user', content: [{ text: 'Hello' }] },
        {
          role: 'assistant',
          content: [{ reasoningContent: { reasoningText: { text: thought, signature: sealed } } }, { text: 'Hi' }],
        },
        { role: 'user', content: [{ text: 'Go on' }] },
      ],
    },
  ],
  'the AI SDK': [
    '/v4/ai/language-model',
    {
      prompt: [
        sdkAsks,
        sdkSays(
          { type: 'reasoning', text: thought, providerOptions: { anthropic: { signature } } },
          { type: 'text', text: 'Hi' },
        ),
        sdkAsks,
      ],
    },
    { 'ai-language-model-id': 'both', 'ai-language-model-specification-version': '3' },
  ],
};
for (const [client, [path, body, headers = {}]] of Object.entries(histories)) {
  test(`a signed thought in the history of ${client} is left out where a guard would change it`, async () => {
    const response = await gateway.fetch(path, { json: body, headers });
    assert.equal(response.status, 200, await response.text());
    assert.deepEqual(thoughtsSent(), []);
    assert.doesNotMatch(JSON.stringify(sent()), /c2ltdWxhdGVk|jo@example/);
  });
}
