import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { until } from '../until.ts';
import { testAwsKeys } from '../upstream-formats/start-aws.ts';
import {
  type Bedrock,
  type BedrockEvent,
  claudeStream,
  startBedrock,
  testBedrockToken,
  textStream,
} from '../upstream-formats/start-bedrock.ts';

/* Amazon Bedrock as a provider: Converse for most models, InvokeModel in Anthropic's format for Claude. */

const nova = 'us.amazon.nova-2-lite-v1:0';
const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const profile = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3';

const keys = { access_key_id: testAwsKeys.accessKeyId, secret_access_key: testAwsKeys.secretAccessKey };

interface World {
  bedrock: Bedrock;
  gateway: TestGateway;
}

async function open(
  t: TestContext,
  provider: Record<string, unknown> = { aws: keys },
  server: Record<string, unknown> = {},
): Promise<World> {
  const bedrock = await startBedrock(t);
  const gateway = await startGateway(t, {
    server,
    providers: { aws: { type: 'bedrock', base_url: bedrock.url, region: 'us-east-1', ...provider } },
    models: {
      ...Object.fromEntries(
        Object.entries({ nova, claude, profile }).map(([id, model]) => [id, { targets: [{ provider: 'aws', model }] }]),
      ),
      whole: { targets: [{ provider: 'aws', model: nova, stream: false }] },
    },
  });
  return { bedrock, gateway };
}

const chat = (model: string, more: object = {}) => ({
  json: { model, messages: [{ role: 'user', content: 'Hi' }], ...more },
});
const asked = ({ bedrock }: World) => bedrock.requests.findLast(({ method }) => method === 'POST')!;

interface Told {
  attempts: { class: string; message: string | null }[];
}

/** What the operator reads of a request. */
async function toldOf({ gateway }: World, answer: Response): Promise<Told> {
  const id = answer.headers.get('x-culvert-request-id');
  const headers = { authorization: `Bearer ${adminKey}` };
  return ((await (await gateway.fetch(`/admin/v1/requests/${id}`, { headers })).json()) as { route: Told }).route;
}

/** The data of server-sent events. */
function eventsIn(text: string): JsonObject[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!) as JsonObject);
}

function contentOf(text: string): string {
  return eventsIn(text)
    .flatMap(({ choices }) => choices as unknown as { delta: { content?: string } }[])
    .map(({ delta }) => delta.content ?? '')
    .join('');
}

for (const model of ['nova', 'profile'] as const) {
  test(`a chat with ${model} is a signed call of Converse, whole and streamed`, async (t) => {
    const world = await open(t);
    const whole = await world.gateway.fetch('/v1/chat/completions', chat(model, { max_tokens: 50, temperature: 0.5 }));
    const body = (await whole.json()) as { choices: { message: { content: string } }[]; usage: JsonObject };
    assert.equal(body.choices[0]?.message.content, 'Hello from Bedrock.');
    assert.equal(body.usage.prompt_tokens, 11);
    // A whole answer is put together of a stream.
    assert.equal(asked(world).operation, 'converse-stream');
    assert.equal(asked(world).model, { nova, profile }[model]);
    assert.deepEqual(asked(world).body.inferenceConfig, { maxTokens: 50, temperature: 0.5 });
    const streamed = await world.gateway.fetch('/v1/chat/completions', chat(model, { stream: true }));
    assert.equal(contentOf(await streamed.text()), 'Hello from Bedrock.');
  });
}

test('an event stream is read however the network cuts it', async (t) => {
  const world = await open(t);
  const events = textStream(['Grüße ', '— 你好', ' 👋']);
  for (const pieceBytes of [1, 3, 17, 150]) {
    world.bedrock.script('converse-stream', [{ events, pieceBytes }]);
    const answer = await world.gateway.fetch('/v1/chat/completions', chat('nova', { stream: true }));
    assert.equal(contentOf(await answer.text()), 'Grüße — 你好 👋');
  }
});

test("Claude Code's call reaches InvokeModel: no model and stream in the body, version and known betas there", async (t) => {
  const world = await open(t);
  const tool = { name: 'Bash', description: 'Runs.', input_schema: { type: 'object', properties: {} } };
  const body = {
    model: 'claude',
    max_tokens: 32_000,
    stream: true,
    system: [{ type: 'text', text: 'You are Claude Code.', cache_control: { type: 'ephemeral' } }],
    thinking: { type: 'enabled', budget_tokens: 10_000 },
    tools: [tool],
    metadata: { user_id: 'user_1' },
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Earlier.', signature: 'EqoBEarlier==' },
          { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { n: 1 } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'done' }] },
    ],
  };
  const answer = await world.gateway.fetch('/v1/messages', {
    json: body,
    headers: { 'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14,oauth-2025-04-20' },
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  const { model: _, stream: __, metadata: ___, ...kept } = body;
  assert.deepEqual(asked(world).body, {
    anthropic_version: 'bedrock-2023-05-31',
    anthropic_beta: ['interleaved-thinking-2025-05-14'],
    ...kept,
  });
  assert.equal(asked(world).operation, 'invoke-with-response-stream');
  assert.equal(asked(world).headers['anthropic-beta'], undefined);
  assert.match(answer.headers.get('x-culvert-dropped') ?? '', /anthropic-beta/);
  // What Anthropic's own stream would be: each event by its name, the signature unchanged.
  assert.match(text, /^event: message_start\ndata: \{"type":"message_start"/);
  assert.match(text, /event: content_block_delta\ndata: \{[^\n]*"signature":"EqoBsigned=="/);
  assert.match(text, /Let me greet — 你好\./);
  assert.equal(eventsIn(text).at(-1)?.type, 'message_stop');
  assert.equal(eventsIn(text).length, claudeStream(['', '', '']).length);
});

/* What AWS's people and LiteLLM saw of Bedrock in October 2026: each beta opens members that are 400 without it. */
test('betas that Bedrock takes go there with the members that they open, and neither goes alone', async (t) => {
  const world = await open(t);
  const passed = [
    'context-management-2025-06-27',
    'mid-conversation-system-2026-04-07',
    'per-turn-control-2026-07-01',
    'mid-conversation-tool-changes-2026-07-01',
    'inline-tools-2026-09-15',
    'dangerous-tool-use-2026-09-03',
    'thinking-binding-controls-2026-08-01',
    'thinking-display-updates-2026-08-18',
  ];
  const opened = {
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    safeguards: [{ type: 'dangerous_tool_use' }],
  };
  const plain = { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
  const json = { model: 'claude', ...plain, ...opened };
  const headers = { 'anthropic-beta': [...passed, 'redact-thinking-2026-02-12', 'advisor-tool-2026-03-01'].join(',') };
  const answer = await world.gateway.fetch('/v1/messages', { json, headers });
  assert.equal(answer.status, 200, await answer.text());
  const version = { anthropic_version: 'bedrock-2023-05-31' };
  assert.deepEqual(asked(world).body, { ...version, anthropic_beta: passed, ...plain, ...opened });
  assert.equal(answer.headers.get('x-culvert-dropped'), 'anthropic-beta');
  await world.gateway.fetch('/v1/messages', { json });
  assert.deepEqual(asked(world).body, { ...version, ...plain });
});

/* What the AI SDK and Anthropic's own clients write, and Bedrock answers 400 to: "Extra inputs are not permitted". */
test("members that Anthropic alone takes stay away from Bedrock, or become Bedrock's", async (t) => {
  const world = await open(t);
  const mark = { type: 'ephemeral' };
  const tool = { name: 'edit', input_schema: { type: 'object', properties: { scope: { type: 'string' } } } };
  const body = {
    model: 'claude',
    max_tokens: 100,
    speed: 'fast',
    metadata: { user_id: 'u' },
    service_tier: 'auto',
    inference_geo: 'us',
    cache_control: mark,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { ...mark, scope: 'global' } }],
    tools: [{ ...tool, eager_input_streaming: true }],
    messages: [{ role: 'user', content: 'Hi' }],
  };
  const headers = { 'anthropic-beta': 'interleaved-thinking-2025-05-14,prompt-caching-scope-2026-01-05' };
  const answer = await world.gateway.fetch('/v1/messages', { json: body, headers });
  assert.equal(answer.status, 200, await answer.text());
  assert.deepEqual(asked(world).body, {
    anthropic_version: 'bedrock-2023-05-31',
    anthropic_beta: ['interleaved-thinking-2025-05-14', 'fine-grained-tool-streaming-2025-05-14'],
    max_tokens: 100,
    system: [{ type: 'text', text: 'Be brief.', cache_control: mark }],
    tools: [tool],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: mark }] }],
  });
  const dropped = 'speed, cache_control.scope, metadata.user_id, inference_geo, anthropic-beta';
  assert.equal(answer.headers.get('x-culvert-dropped'), dropped);

  const four = { type: 'text', text: 'Hello', cache_control: mark };
  const full = { ...body, system: [four, four], messages: [{ role: 'user', content: [four, four] }], tools: [] };
  const another = await world.gateway.fetch('/v1/messages', { json: full });
  assert.match(another.headers.get('x-culvert-dropped') ?? '', /\bcache_control\b/);
  assert.deepEqual(asked(world).body.messages, full.messages);
  assert.equal(asked(world).body.cache_control, undefined);

  // "cache_control cannot be set for empty text blocks".
  const blocks = [
    { type: 'text', text: 'Hi' },
    { type: 'text', text: '' },
  ];
  await world.gateway.fetch('/v1/messages', { json: { ...body, messages: [{ role: 'user', content: blocks }] } });
  const content = [{ ...blocks[0], cache_control: mark }, blocks[1]];
  assert.deepEqual(asked(world).body.messages, [{ role: 'user', content }]);
});

test("Anthropic's whole answers pass as they are", async (t) => {
  const world = await open(t);
  const json = { model: 'claude', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
  const answer = await world.gateway.fetch('/v1/messages', { json });
  const body = (await answer.json()) as JsonObject;
  assert.deepEqual(body.content, [{ type: 'text', text: 'Hello from Claude.' }]);
  assert.equal(asked(world).operation, 'invoke');
});

test('chat callers of Claude get thoughts, text and usage out of InvokeModel', async (t) => {
  const world = await open(t);
  const answer = await world.gateway.fetch(
    '/v1/chat/completions',
    chat('claude', { stream: true, reasoning_effort: 'low' }),
  );
  const text = await answer.text();
  assert.equal(contentOf(text), 'Hello from Claude.');
  assert.match(text, /"reasoning_content":"Let me greet — 你好\."/);
  assert.equal(asked(world).body.model, undefined);
});

test('sources and pictures of Converse reach chat callers, whole and streamed', async (t) => {
  const world = await open(t);
  const said = 'Grass is blue.';
  const citation = (location: JsonObject, more: JsonObject = {}) => ({ title: 'Lawns', location, ...more });
  const page = citation(
    { web: { url: 'https://a.example' } },
    { sourceContent: [{ text: 'Blue ' }, { text: 'grass.' }] },
  );
  const document = citation({ documentChar: { documentIndex: 0, start: 0, end: 5 } });
  const bytes = '/9j/4AAQ';
  const delta = (contentBlockIndex: number, one: JsonObject): BedrockEvent => [
    'contentBlockDelta',
    { contentBlockIndex, delta: one },
  ];
  const [begin, , , ...end] = textStream([said]);
  world.bedrock.script('converse-stream', [
    {
      events: [
        begin!,
        delta(0, { text: said }),
        delta(0, { citation: page }),
        delta(0, { citation: document }),
        ['contentBlockStop', { contentBlockIndex: 0 }],
        ['contentBlockStart', { contentBlockIndex: 1, start: { image: { format: 'jpeg' } } }],
        delta(1, { image: { source: { bytes } } }),
        ['contentBlockStop', { contentBlockIndex: 1 }],
        ...end,
      ],
    },
  ]);
  const content = [
    { citationsContent: { content: [{ text: said }], citations: [page, document] } },
    { image: { format: 'jpeg', source: { bytes } } },
  ];
  const usage = { inputTokens: 11, outputTokens: 7, totalTokens: 18 };
  world.bedrock.script('converse', [
    { json: { output: { message: { role: 'assistant', content } }, stopReason: 'end_turn', usage } },
  ]);
  const messageOf = async (model: string) => {
    const answer = await world.gateway.fetch('/v1/chat/completions', chat(model));
    const { choices } = (await answer.json()) as { choices: [{ message: JsonObject }] };
    const { content: text, images, annotations } = choices[0].message;
    return { text, images, annotations, dropped: answer.headers.get('x-culvert-dropped') };
  };
  const expected = {
    text: said,
    images: [{ index: 0, type: 'image_url', image_url: { url: `data:image/jpeg;base64,${bytes}` } }],
    annotations: [
      {
        type: 'url_citation',
        url_citation: { url: 'https://a.example', title: 'Lawns', start_index: 0, end_index: said.length },
      },
    ],
    // Chat has a word for pages alone.
    dropped: 'annotations',
  };
  assert.deepEqual(await messageOf('nova'), expected);
  assert.equal(asked(world).operation, 'converse-stream');
  assert.deepEqual(await messageOf('whole'), expected);
  assert.equal(asked(world).operation, 'converse');
});

test('each source of a whole answer is of its own block, however many there are', async (t) => {
  const world = await open(t);
  const blocks = Array.from({ length: 300 }, (_, at) => `Fact ${at}. `);
  const content = blocks.map((text, at) => ({
    citationsContent: { content: [{ text }], citations: [{ location: { web: { url: `https://a.example/${at}` } } }] },
  }));
  const usage = { inputTokens: 1, outputTokens: 900, totalTokens: 901 };
  const message = { role: 'assistant', content };
  world.bedrock.script('converse', [{ json: { output: { message }, stopReason: 'end_turn', usage } }]);
  const answer = await world.gateway.fetch('/v1/chat/completions', chat('whole'));
  const { choices } = (await answer.json()) as {
    choices: [{ message: { content: string; annotations: JsonObject[] } }];
  };
  const { content: text, annotations } = choices[0].message;
  assert.equal(text, blocks.join(''));
  const cited = annotations.map(({ url_citation }) => {
    const { start_index: start, end_index: end, url } = url_citation as { [name: string]: never };
    return [text.slice(start, end), url];
  });
  assert.deepEqual(
    cited,
    blocks.map((block, at) => [block, `https://a.example/${at}`]),
  );
});

test('tokens of Claude are estimated here, since Bedrock counts at none of the paths of Anthropic', async (t) => {
  const world = await open(t);
  const json = { model: 'claude', messages: [{ role: 'user', content: 'Hi there' }] };
  const answer = await world.gateway.fetch('/v1/messages/count_tokens', { json });
  const { input_tokens: tokens } = (await answer.json()) as { input_tokens: number };
  assert.ok(answer.status === 200 && tokens > 0 && tokens < 50, String(tokens));
  assert.deepEqual(
    world.bedrock.requests.filter(({ method }) => method === 'POST'),
    [],
  );
});

test('a call of Messages over Converse gives its signature back with the next turn', async (t) => {
  const world = await open(t);
  const delta = (contentBlockIndex: number, said: JsonObject): BedrockEvent => [
    'contentBlockDelta',
    { contentBlockIndex, delta: said },
  ];
  world.bedrock.script('converse-stream', [
    {
      events: [
        ['messageStart', { role: 'assistant' }],
        delta(0, { reasoningContent: { text: 'Weather, ' } }),
        delta(0, { reasoningContent: { text: 'then.' } }),
        delta(0, { reasoningContent: { signature: 'sig-of-converse' } }),
        ['contentBlockStop', { contentBlockIndex: 0 }],
        [
          'contentBlockStart',
          { contentBlockIndex: 1, start: { toolUse: { toolUseId: 'tooluse_1', name: 'weather' } } },
        ],
        delta(1, { toolUse: { input: '{"city":' } }),
        delta(1, { toolUse: { input: '"Bern"}' } }),
        ['contentBlockStop', { contentBlockIndex: 1 }],
        ['messageStop', { stopReason: 'tool_use' }],
        [
          'metadata',
          {
            usage: {
              inputTokens: 5,
              outputTokens: 9,
              totalTokens: 30,
              cacheReadInputTokens: 12,
              cacheWriteInputTokens: 4,
            },
            metrics: { latencyMs: 1 },
          },
        ],
      ],
    },
    { events: textStream(['It rains.']) },
  ]);
  const tools = [{ name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }];
  const first = {
    role: 'user',
    content: [{ type: 'text', text: 'Weather in Bern?', cache_control: { type: 'ephemeral' } }],
  };
  const thinking = { type: 'enabled', budget_tokens: 1_024 };
  const ask = (messages: unknown[]) =>
    world.gateway.fetch('/v1/messages', { json: { model: 'profile', max_tokens: 4_000, thinking, tools, messages } });
  const answer = (await (await ask([first])).json()) as {
    content: JsonObject[];
    stop_reason: string;
    usage: JsonObject;
  };
  assert.equal(answer.stop_reason, 'tool_use');
  assert.deepEqual(answer.content.at(-1), {
    type: 'tool_use',
    id: 'tooluse_1',
    name: 'weather',
    input: { city: 'Bern' },
  });
  assert.equal(answer.usage.cache_read_input_tokens, 12);
  assert.equal(answer.usage.cache_creation_input_tokens, 4);
  assert.equal(answer.usage.input_tokens, 5);
  const result = { type: 'tool_result', tool_use_id: 'tooluse_1', content: 'rain' };
  await (
    await ask([first, { role: 'assistant', content: answer.content }, { role: 'user', content: [result] }])
  ).json();
  const { messages, toolConfig } = asked(world).body as { messages: JsonObject[]; toolConfig: JsonObject };
  assert.deepEqual(messages[1], {
    role: 'assistant',
    content: [
      { reasoningContent: { reasoningText: { text: 'Weather, then.', signature: 'sig-of-converse' } } },
      { toolUse: { toolUseId: 'tooluse_1', name: 'weather', input: { city: 'Bern' } } },
    ],
  });
  assert.deepEqual(messages[2]?.content, [{ toolResult: { toolUseId: 'tooluse_1', content: [{ text: 'rain' }] } }]);
  assert.deepEqual(toolConfig.tools, [
    { toolSpec: { name: 'weather', inputSchema: { json: tools[0]!.input_schema } } },
  ]);
});

test('cache points, pictures and documents stand where Converse wants them', async (t) => {
  const world = await open(t);
  const png = 'iVBORw0KGgo=';
  const json = {
    model: 'nova',
    max_tokens: 100,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
          {
            type: 'document',
            title: 'Report: Q1/2026.pdf',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
          },
        ],
      },
    ],
  };
  const answer = await world.gateway.fetch('/v1/messages', { json });
  assert.equal(answer.status, 200, await answer.text());
  const { system, messages } = asked(world).body;
  assert.deepEqual(system, [{ text: 'Be brief.' }, { cachePoint: { type: 'default' } }]);
  assert.deepEqual(messages, [
    {
      role: 'user',
      content: [
        { image: { format: 'png', source: { bytes: png } } },
        { document: { format: 'pdf', name: 'Report Q1 2026 pdf', source: { bytes: 'JVBERi0=' } } },
        { text: 'See the document.' },
      ],
    },
  ]);
});

test("an operator's guardrail and fields of the model's own go along, beside what the caller asked", async (t) => {
  const bedrock = await startBedrock(t);
  const guardrailConfig = { guardrailIdentifier: 'gr-1', guardrailVersion: '1' };
  const body = { guardrailConfig, inferenceConfig: { topP: 0.5 }, additionalModelRequestFields: { mode: 'fast' } };
  const gateway = await startGateway(t, {
    providers: { aws: { type: 'bedrock', base_url: bedrock.url, region: 'us-east-1', aws: keys } },
    models: { nova: { targets: [{ provider: 'aws', model: nova, body }] } },
  });
  const answer = await gateway.fetch('/v1/chat/completions', chat('nova', { max_tokens: 9, reasoning_effort: 'low' }));
  assert.equal(answer.status, 200, await answer.text());
  const sent = asked({ bedrock, gateway }).body;
  assert.deepEqual(sent.guardrailConfig, guardrailConfig);
  assert.deepEqual(sent.inferenceConfig, { maxTokens: 9, topP: 0.5 });
  assert.deepEqual(sent.additionalModelRequestFields, {
    reasoningConfig: { type: 'enabled', maxReasoningEffort: 'low' },
    mode: 'fast',
  });
});

test('a guardrail that steps in ends the answer as a content filter', async (t) => {
  const world = await open(t);
  world.bedrock.script('converse-stream', [
    {
      events: [
        ['messageStart', { role: 'assistant' }],
        ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Sorry.' } }],
        ['messageStop', { stopReason: 'guardrail_intervened' }],
        ['metadata', { usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }, metrics: { latencyMs: 1 } }],
      ],
    },
  ]);
  const answer = await world.gateway.fetch('/v1/chat/completions', chat('nova'));
  const body = (await answer.json()) as { choices: { finish_reason: string }[] };
  assert.equal(body.choices[0]?.finish_reason, 'content_filter');
});

test('a JSON schema is asked natively where the model knows it, else by a forced call', async (t) => {
  const world = await open(t);
  const schema = {
    type: 'object',
    properties: { a: { type: 'integer' } },
    required: ['a'],
    additionalProperties: false,
  };
  const response_format = { type: 'json_schema', json_schema: { name: 'answer', schema } };
  await (await world.gateway.fetch('/v1/chat/completions', chat('profile', { response_format }))).json();
  assert.deepEqual(asked(world).body.outputConfig, {
    textFormat: { type: 'json_schema', structure: { jsonSchema: { name: 'answer', schema: JSON.stringify(schema) } } },
  });
  const call = { toolUse: { toolUseId: 't', name: 'json_response' } };
  world.bedrock.script('converse-stream', [
    {
      events: [
        ['messageStart', { role: 'assistant' }],
        ['contentBlockStart', { contentBlockIndex: 0, start: call }],
        ['contentBlockDelta', { contentBlockIndex: 0, delta: { toolUse: { input: '{"a":1}' } } }],
        ['contentBlockStop', { contentBlockIndex: 0 }],
        ['messageStop', { stopReason: 'tool_use' }],
        ['metadata', { usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }, metrics: { latencyMs: 1 } }],
      ],
    },
  ]);
  const answer = await world.gateway.fetch('/v1/chat/completions', chat('nova', { response_format }));
  const body = (await answer.json()) as { choices: { message: { content: string }; finish_reason: string }[] };
  assert.equal(body.choices[0]?.message.content, '{"a":1}');
  assert.equal(body.choices[0]?.finish_reason, 'stop');
  assert.deepEqual((asked(world).body.toolConfig as JsonObject).toolChoice, { tool: { name: 'json_response' } });
});

for (const [what, events, expected] of [
  ['throttling', [['throttlingException', { message: 'Too many requests.' }, 'exception']], 'rate_limited'],
  [
    'a fault of the model',
    [['modelStreamErrorException', { message: 'Boom.', originalStatusCode: 500 }, 'exception']],
    'transient',
  ],
  ['a stream that is cut', textStream(['Half']).slice(0, 1), 'truncated'],
  ['malformed output', [['messageStop', { stopReason: 'malformed_tool_use' }]], 'malformed'],
] as readonly [string, BedrockEvent[], string][]) {
  test(`an exception inside a stream (${what}) before any content moves the request on: ${expected}`, async (t) => {
    const world = await open(t);
    world.bedrock.script('converse-stream', [{ events }, { events: textStream(['Second.']) }]);
    const answer = await world.gateway.fetch('/v1/chat/completions', chat('nova', { stream: true }));
    const text = await answer.text();
    const told = await toldOf(world, answer);
    assert.equal(told.attempts[0]?.class, expected, JSON.stringify(told));
    if (expected !== 'rate_limited') assert.equal(contentOf(text), 'Second.');
  });
}

test('a message whose checksum is wrong is no answer', async (t) => {
  const world = await open(t);
  world.bedrock.script('converse-stream', [{ events: textStream(['Never.']).slice(0, 2), spoil: 'checksum' }]);
  const answer = await world.gateway.fetch('/v1/chat/completions', chat('nova'));
  assert.equal(answer.status, 502);
});

for (const [status, errorType, message, expected] of [
  [
    403,
    'AccessDeniedException',
    "You don't have access to the model with the specified model ID.",
    'model_unavailable',
  ],
  [403, 'UnrecognizedClientException', 'The security token included in the request is invalid.', 'bad_credential'],
  [400, 'ValidationException', 'The provided model identifier is invalid.', 'model_unavailable'],
  [400, 'ValidationException', 'messages.0: content is empty', 'caller_fault'],
  [429, 'ThrottlingException', 'Too many tokens per day, please wait before trying again.', 'quota_exhausted'],
  [424, 'ModelErrorException', 'The model failed.', 'transient'],
] as const) {
  test(`${status} ${errorType} (${message.slice(0, 30)}…) is ${expected}, for Claude too`, async (t) => {
    const world = await open(t);
    for (const [model, operation] of [
      ['nova', 'converse-stream'],
      ['claude', 'invoke-with-response-stream'],
    ] as const) {
      world.bedrock.script(operation, [{ status, json: { message }, errorType }]);
      const answer = await world.gateway.fetch('/v1/chat/completions', chat(model, { stream: true }));
      await answer.text();
      const told = await toldOf(world, answer);
      assert.equal(told.attempts[0]?.class, expected);
    }
  });
}

test('an API key of Bedrock needs no signature', async (t) => {
  const world = await open(t, { api_key: testBedrockToken });
  const answer = await world.gateway.fetch('/v1/chat/completions', chat('nova', { stream: true }));
  assert.equal(contentOf(await answer.text()), 'Hello from Bedrock.');
  assert.equal(asked(world).headers.authorization, `Bearer ${testBedrockToken}`);
});

test('credentials that cannot be had say which steps were tried, and no secret', async (t) => {
  const world = await open(t, { aws: { profile: 'nobody-has-this-profile' } });
  const answer = await world.gateway.fetch('/v1/chat/completions', chat('nova'));
  const text = await answer.text();
  assert.ok(answer.status >= 500, text);
  const told = await toldOf(world, answer);
  assert.equal(told.attempts[0]?.class, 'bad_credential');
  assert.match(
    told.attempts[0]?.message ?? '',
    /AWS gave no credentials; tried: profile nobody-has-this-profile \(.+\), SSO/,
  );
  assert.equal(world.bedrock.requests.filter(({ method }) => method === 'POST').length, 0);
});

test('a wrong secret is a bad credential, and no message tells it', async (t) => {
  const world = await open(t, { aws: { ...keys, secret_access_key: 'wrong-secret-wrong-secret' } });
  const answer = await world.gateway.fetch('/v1/chat/completions', chat('nova'));
  const text = await answer.text();
  assert.doesNotMatch(text, /wrong-secret|AKIA/);
  const told = JSON.stringify(await toldOf(world, answer));
  assert.match(told, /bad_credential/);
  assert.doesNotMatch(told, /wrong-secret/);
});

test('models are discovered: those that can be called by their id, and inference profiles', async (t) => {
  const bedrock = await startBedrock(t);
  const gateway = await startGateway(t, {
    providers: { aws: { type: 'bedrock', base_url: bedrock.url, region: 'us-east-1', aws: keys } },
  });
  let ids: string[] = [];
  await until('models are listed', async () => {
    const { data } = (await (await gateway.fetch('/v1/models')).json()) as { data: { id: string }[] };
    ids = data.map(({ id }) => id).filter((id) => id.startsWith('aws/'));
    return ids.length > 0;
  });
  assert.ok(ids.includes('aws/amazon.nova-lite-v1:0'), ids.join());
  assert.ok(ids.includes(`aws/${claude}`), ids.join());
  assert.ok(!ids.includes('aws/anthropic.claude-sonnet-4-5-20250929-v1:0'), ids.join());
});

/** The variables that change are those of this process. */
const ownEnvironment = { processes: 1 };

test('a start refuses a provider without a region, and says how to give one', async (t) => {
  const { AWS_REGION, AWS_DEFAULT_REGION } = process.env;
  delete process.env.AWS_REGION;
  delete process.env.AWS_DEFAULT_REGION;
  t.after(() => {
    if (AWS_REGION !== undefined) process.env.AWS_REGION = AWS_REGION;
    if (AWS_DEFAULT_REGION !== undefined) process.env.AWS_DEFAULT_REGION = AWS_DEFAULT_REGION;
  });
  const world = await open(t, { region: undefined, aws: keys }, ownEnvironment);
  const answer = await world.gateway.fetch('/v1/chat/completions', chat('nova'));
  assert.equal(answer.status, 503);
});

test('a chain without credentials names each step with its variables, and the role that needed it', async (t) => {
  const gone = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE', 'AWS_WEB_IDENTITY_TOKEN_FILE'];
  const set = { HOME: '/nonexistent', AWS_EC2_METADATA_DISABLED: 'true' };
  const before = { ...process.env };
  t.after(() => {
    process.env = before;
  });
  process.env = { ...before, ...set };
  for (const name of gone) delete process.env[name];
  const role = 'arn:aws:iam::123456789012:role/culvert';
  const world = await open(t, { aws: { role_arn: role } }, ownEnvironment);
  const answer = await world.gateway.fetch('/v1/chat/completions', chat('nova'));
  await answer.text();
  const { message } = (await toldOf(world, answer)).attempts[0]!;
  assert.match(
    message!,
    /^role arn:aws:iam::123456789012:role\/culvert cannot be assumed: AWS gave no credentials; tried: /,
  );
  for (const step of [/environment \(AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set\)/, /profile default/]) {
    assert.match(message!, step);
  }
  assert.match(message!, /instance metadata \(AWS_EC2_METADATA_DISABLED is true\)/);
});
