import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { callerIds, type UpstreamId, upstreamIds } from '../contract/dialect-matrix/formats.ts';
import { callerFormats } from '../contract/dialect-matrix/rig.ts';
import { upstreamFormats } from '../contract/dialect-matrix/upstreams.ts';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { explained } from './read-answer.ts';

type Count = number | null | undefined;
/** Input and output that a provider reports; undefined: it leaves the member out. */
type Counts = readonly [input: Count, output: Count];

const names: Readonly<Record<UpstreamId, readonly [string, string]>> = {
  'openai-chat': ['prompt_tokens', 'completion_tokens'],
  'anthropic-messages': ['input_tokens', 'output_tokens'],
  'openai-responses': ['input_tokens', 'output_tokens'],
  gemini: ['promptTokenCount', 'candidatesTokenCount'],
};

const words = 'Hello over there';
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' };
const part = { type: 'output_text', text: words, annotations: [] };
const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] };
const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', output: [item], status: 'completed' };
const candidates = [{ index: 0, content: { role: 'model', parts: [{ text: words }] }, finishReason: 'STOP' }];
const chat = { id: 'c', created: 1, model: 'm' };
const chunk = (delta: object, finish_reason: string | null) => ({
  ...{ ...chat, object: 'chat.completion.chunk' },
  choices: [{ index: 0, delta, finish_reason }],
});

/** The same answer in each format, whole and streamed. `usage`: null where nothing is reported. */
const answers: Readonly<Record<UpstreamId, (usage: object | null) => { whole: object; events: (object | string)[] }>> =
  {
    'openai-chat': (usage) => ({
      whole: {
        ...{ ...chat, object: 'chat.completion', usage },
        choices: [{ index: 0, message: { role: 'assistant', content: words }, finish_reason: 'stop' }],
      },
      events: [
        chunk({ role: 'assistant', content: words }, null),
        chunk({}, 'stop'),
        ...(usage === null ? [] : [{ ...chat, object: 'chat.completion.chunk', choices: [], usage }]),
        '[DONE]',
      ],
    }),
    'anthropic-messages': (usage) => ({
      whole: { ...message, content: [{ type: 'text', text: words }], stop_reason: 'end_turn', usage },
      events: [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, ...(usage !== null && { usage }) },
        { type: 'message_stop' },
      ],
    }),
    'openai-responses': (usage) => ({
      whole: { ...response, usage },
      events: [
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
        { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: words },
        { type: 'response.completed', response: { ...response, usage } },
      ],
    }),
    gemini: (usageMetadata) => {
      const whole = {
        responseId: 'r',
        modelVersion: 'm',
        candidates,
        ...(usageMetadata !== null && { usageMetadata }),
      };
      return { whole, events: [whole] };
    },
  };

const reported: Readonly<Record<string, Counts>> = {
  nothing: [undefined, undefined],
  'output alone': [undefined, 5],
  'input alone': [50, undefined],
  'no input': [0, 5],
  'null as input': [null, 5],
  'no output': [50, 0],
  'null as output': [50, null],
  zeros: [0, 0],
  nulls: [null, null],
};

for (const format of upstreamIds) {
  test(`usage that a provider leaves out is counted for callers and the books: ${format}`, async (t) => {
    let now: Counts = [undefined, undefined];
    const url = await startAnswering(t, () => {
      const usage = Object.fromEntries(names[format].map((name, at) => [name, now[at]]));
      return answers[format](now.every((count) => count === undefined) ? null : usage);
    });
    const { provider, model } = upstreamFormats[format];
    const gateway = await startGateway(t, {
      providers: { one: provider(url) },
      models: { chat: { targets: [{ provider: 'one', model, price: { input: 1, output: 1 } }] } },
    });
    for (const [what, counts] of Object.entries(reported)) {
      now = counts;
      for (const id of callerIds) {
        for (const delivery of ['whole', 'stream'] as const) {
          const caller = callerFormats[id];
          const json = caller.body('chat', { say: 'Hello, how are you today?', maxTokens: 64, usage: true }, delivery);
          const answer = await gateway.fetch(caller.path('chat', delivery), { json });
          const text = await answer.text();
          const which = `${what}, ${id}, ${delivery}: ${text}`;
          const { input_tokens: input, output_tokens: output, source } = (await explained(gateway, answer)).usage;
          // Google's format has no answer with output alone.
          const [toldInput, toldOutput] = format === 'gemini' && !counts[0] && counts[0] !== 0 ? [] : counts;
          assert.equal(source, 'counted', which);
          assert.ok(toldInput ? input === toldInput : input > 5 && input < 100, `${input} ${which}`);
          assert.ok(toldOutput ? output === toldOutput : output === words.length / 4, `${output} ${which}`);
          if (id === 'openai-chat') assert.match(text, new RegExp(`"total_tokens":${input + output}\\b`), which);
          // A provider's own answer stays without the members that it leaves out.
          for (const [at, count] of [input, output].entries()) {
            if (id === format && counts[at] === undefined) continue;
            const last = text.lastIndexOf(`"${names[id][at]}":`);
            assert.match(text.slice(last), new RegExp(`^"${names[id][at]}":${count}\\b`), which);
          }
        }
      }
      const silent = callerFormats['openai-chat'].body('chat', { say: 'Hello', maxTokens: 64 }, 'stream');
      const answer = await gateway.fetch(callerFormats['openai-chat'].path('chat', 'stream'), { json: silent });
      assert.doesNotMatch(await answer.text(), /tokens/, what);
    }
  });
}

const totals: Readonly<Partial<Record<UpstreamId, string>>> = {
  'openai-chat': 'total_tokens',
  'openai-responses': 'total_tokens',
  gemini: 'totalTokenCount',
};
const tokens = words.length / 4;
/** Counts beside a total of 60, and what they come to. */
const besideTotal: Readonly<Record<string, readonly [reported: Counts, expected: readonly [number, number]]>> = {
  'a total alone': [
    [undefined, undefined],
    [60 - tokens, tokens],
  ],
  'nulls and a total': [
    [null, null],
    [60 - tokens, tokens],
  ],
  'output and a total': [
    [undefined, 5],
    [55, 5],
  ],
  'input and a total': [
    [50, undefined],
    [50, 10],
  ],
  'zeros and a total': [
    [0, 0],
    [60 - tokens, tokens],
  ],
  'no output and a total': [
    [undefined, 0],
    [60 - tokens, tokens],
  ],
  'no input, output and a total': [
    [0, 5],
    [55, 5],
  ],
  'null as input, output and a total': [
    [null, 5],
    [55, 5],
  ],
  'input, no output and a total': [
    [50, 0],
    [50, 10],
  ],
  'input, null as output and a total': [
    [50, null],
    [50, 10],
  ],
};

for (const [format, total] of Object.entries(totals) as [UpstreamId, string][]) {
  test(`a total is what its parts come to, whichever of them a provider leaves out: ${format}`, async (t) => {
    let now: object = {};
    const url = await startAnswering(t, () => answers[format](now));
    const { provider, model } = upstreamFormats[format];
    const gateway = await startGateway(t, {
      providers: { one: provider(url) },
      models: { chat: { targets: [{ provider: 'one', model, price: { input: 1, output: 1 } }] } },
    });
    for (const [what, [counts, expected]] of Object.entries(besideTotal)) {
      now = { ...Object.fromEntries(names[format].map((name, at) => [name, counts[at]])), [total]: 60 };
      for (const id of callerIds) {
        for (const delivery of ['whole', 'stream'] as const) {
          const caller = callerFormats[id];
          const json = caller.body('chat', { say: 'Hello, how are you today?', maxTokens: 64, usage: true }, delivery);
          const answer = await gateway.fetch(caller.path('chat', delivery), { json });
          const text = await answer.text();
          const which = `${what}, ${id}, ${delivery}: ${text}`;
          const { input_tokens: input, output_tokens: output } = (await explained(gateway, answer)).usage;
          assert.deepEqual([input, output], expected, which);
          for (const [at, count] of expected.entries()) {
            if (id === format && counts[at] === undefined) continue;
            const last = text.lastIndexOf(`"${names[id][at]}":`);
            assert.match(text.slice(last), new RegExp(`^"${names[id][at]}":${count}\\b`), which);
          }
        }
      }
    }
  });
}

test('counts of message_start are those of the first words', async (t) => {
  const format = 'anthropic-messages';
  let first: object = {};
  let last: object = {};
  const url = await startAnswering(t, () => {
    const { whole, events } = answers[format](null);
    const [, ...others] = events as { type: string }[];
    const start = { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage: first } };
    return {
      whole,
      events: [start, ...others.map((one) => (one.type === 'message_delta' ? { ...one, ...last } : one))],
    };
  });
  const { provider, model } = upstreamFormats[format];
  const gateway = await startGateway(t, {
    providers: { one: provider(url) },
    models: { chat: { targets: [{ provider: 'one', model }] } },
  });
  const begun = { input_tokens: 25, output_tokens: 1 };
  const cached = { input_tokens: 0, output_tokens: 1, cache_read_input_tokens: 25 };
  const none = { input_tokens: 0, output_tokens: 0, service_tier: 'standard' };
  // Before the last event, after it; undefined: as counted here.
  const cases: readonly (readonly [object, object, input: number | undefined, output: number])[] = [
    [begun, {}, 25, 4],
    [begun, { usage: null }, 25, 4],
    [begun, { usage: { output_tokens: null } }, 25, 4],
    [begun, { usage: { output_tokens: 9 } }, 25, 9],
    [cached, {}, 25, 4],
    [none, { usage: { output_tokens: 9 } }, undefined, 9],
    [none, { usage: { input_tokens: 25, output_tokens: 9 } }, 25, 9],
    [none, {}, undefined, 4],
  ];
  for (const id of callerIds) {
    for (const [before, after, input, output] of cases) {
      [first, last] = [before, after];
      const caller = callerFormats[id];
      const json = caller.body('chat', { say: 'Hello, how are you today?', maxTokens: 64, usage: true }, 'stream');
      const answer = await gateway.fetch(caller.path('chat', 'stream'), { json });
      const text = await answer.text();
      const { usage } = await explained(gateway, answer);
      const which = `${id} ${JSON.stringify([before, after])}: ${text}`;
      assert.equal(usage.output_tokens, output, which);
      assert.ok(
        input === undefined ? usage.input_tokens > 25 && usage.input_tokens < 100 : usage.input_tokens === input,
        which,
      );
      const [inputName, outputName] = names[id];
      const shown = (name: string) => Number(text.slice(text.lastIndexOf(`"${name}":`)).match(/\d+/)?.[0]);
      assert.equal(shown(outputName), output, which);
      if (before !== cached) assert.equal(shown(inputName), usage.input_tokens, which);
    }
  }
});

test('input that a chat counts at its beginning alone is counted', async (t) => {
  const counts = (prompt_tokens: number, completion_tokens: number) => ({ prompt_tokens, completion_tokens });
  const details = (cached_tokens: number, reasoning_tokens: number) => ({
    prompt_tokens_details: { cached_tokens },
    completion_tokens_details: { reasoning_tokens },
  });
  const first = { ...counts(50, 1), ...details(40, 0) };
  for (const [last, expected] of [
    [{ ...counts(0, 9), ...details(0, 5) }, [50, 9, 40, 5]],
    [counts(0, 9), [50, 9, 40, 0]],
    [counts(0, 0), [50, 1, 40, 0]],
    [counts(60, 9), [60, 9, 0, 0]],
  ] as const) {
    const url = await startAnswering(t, () => ({
      whole: {},
      events: [
        { ...chunk({ role: 'assistant', content: '' }, null), usage: first },
        chunk({ content: words }, null),
        { ...chunk({}, 'stop'), usage: last },
        '[DONE]',
      ],
    }));
    const gateway = await startGateway(t, {
      providers: { one: upstreamFormats['openai-chat'].provider(url) },
      models: { chat: { targets: ['one/m'] } },
    });
    for (const id of callerIds) {
      const caller = callerFormats[id];
      const json = caller.body('chat', { say: 'Hello', maxTokens: 64, usage: true }, 'stream');
      const answer = await gateway.fetch(caller.path('chat', 'stream'), { json });
      const text = await answer.text();
      const { usage } = (await explained(gateway, answer)) as { usage: Record<string, unknown> };
      assert.deepEqual(
        [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.reasoning_tokens],
        expected,
        `${id}: ${text}`,
      );
      if (id !== 'openai-chat') continue;
      const [prompt_tokens, completion_tokens] = expected;
      const last = JSON.parse(text.split('\n\n').at(-3)!.slice('data: '.length)) as { usage: object };
      assert.deepEqual({ ...last.usage, ...counts(prompt_tokens, completion_tokens) }, last.usage, text);
    }
  }
});

/** A server of any format that gives the answer of `answer`. */
function startAnswering(
  t: TestContext,
  answer: () => { whole: object; events: readonly (object | string)[] },
): Promise<string> {
  const server = createServer((request, reply) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      if (request.method !== 'POST') return reply.writeHead(404).end();
      const { whole, events } = answer();
      const streams = request.url!.includes('streamGenerateContent') || /"stream":\s*true/.test(body);
      const type = streams ? 'text/event-stream' : 'application/json';
      reply.writeHead(200, { 'content-type': type }).end(streams ? events.map(frame).join('') : JSON.stringify(whole));
    });
  });
  return listening(t, server);
}

function frame(event: object | string): string {
  if (typeof event === 'string') return `data: ${event}\n\n`;
  return `${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`;
}
