/**
 * What callers of Messages cost in CPU over other formats: `node bench/dialects/messages.ts`. The request is shaped as
 * Claude Code's. One thread, no network; each figure is the median of several rounds after a warm-up.
 */
import { anthropicMessages } from '../../src/inference/dialects/anthropic-messages/index.ts';
import type { SseEvent } from '../../src/inference/dialects/dialect.ts';
import { openAiChat } from '../../src/inference/dialects/openai-chat/index.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { scanJson } from '../../src/kernel/json-scan.ts';
import { firstRequest } from '../../test/clients/claude-code-body.ts';

const rounds = 9;
const roundMs = 120;

/** Median µs of one call. */
function measureUs(call: () => unknown): number {
  const results: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    let calls = 0;
    const begin = process.hrtime.bigint();
    const until = performance.now() + roundMs;
    do {
      for (let i = 0; i < 10; i++) call();
      calls += 10;
    } while (performance.now() < until);
    // The first round warms up.
    if (round > 0) results.push(Number(process.hrtime.bigint() - begin) / 1_000 / calls);
  }
  return results.sort((a, b) => a - b)[Math.floor(results.length / 2)]!;
}

const print = (what: string, us: number) => console.log(`${what.padEnd(60)} ${us.toFixed(2).padStart(9)} µs`);

/** A conversation of some length behind the first request of Claude Code, 100 KB in all. */
function body(): JsonObject {
  const first = firstRequest('Hello') as JsonObject;
  const messages = [...(first.messages as JsonObject[])];
  for (let i = 0; JSON.stringify(messages).length + 60_000 < 100_000; i++) {
    messages.push(
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look at it. '.repeat(8) },
          { type: 'tool_use', id: `toolu_${i}`, name: 'Read', input: { file_path: '/src/main.ts', offset: i } },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: `toolu_${i}`, content: 'a line of the file\n'.repeat(40) }],
      },
    );
  }
  return { ...first, messages };
}

const raw = Buffer.from(JSON.stringify(body()));
const size = `${Math.round(raw.length / 1_000)} KB`;
const parsed = JSON.parse(raw.toString()) as JsonObject;
const scan = scanJson(raw, 64);
const read = anthropicMessages.readRequest(raw, parsed, scan);
if (!read.ok) throw new Error('the benchmark body is not valid');
const request = read.value;
const target = { model: 'gpt-x', maxOutputTokens: 64_000, stream: true, omit: [] };
const forward = {
  model: 'claude-x',
  maxOutputTokens: 64_000,
  body: {},
  streamUsage: 'leave',
  omit: [],
  rename: {},
} as const;

print(
  `request ${size}: parse and check`,
  measureUs(() => anthropicMessages.readRequest(raw, JSON.parse(raw.toString()) as JsonObject, scanJson(raw, 64))),
);
print(
  `request ${size}: the bytes for Anthropic`,
  measureUs(() => request.forward(forward)),
);
print(
  `request ${size}: neutral, as chat, as JSON`,
  measureUs(() => {
    const encoded = openAiChat.encodeRequest(request.neutral(), target);
    return encoded.ok ? JSON.stringify(encoded.value.body) : '';
  }),
);

const deltas = 1_000;
const chunkOf = (delta: JsonObject, finish: string | null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_750_000_000,
  model: 'gpt-x',
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const chunks = [
  chunkOf({ role: 'assistant', content: '' }, null),
  ...Array.from({ length: deltas }, () => chunkOf({ content: ' token and a few' }, null)),
  chunkOf({}, 'stop'),
];
const events: SseEvent[] = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => ({
  event: '',
  data,
}));
const head = { fallbackId: 'msg_1', model: 'alias', createdS: 0, includeUsage: true };
print(
  'stream: decode chat chunks and encode as Messages, per event',
  measureUs(() => {
    const decoder = openAiChat.decodeStream();
    const encoder = anthropicMessages.encodeStream(head);
    for (const event of events) for (const neutral of decoder.step(event)) encoder.step(neutral);
  }) / events.length,
);
