/**
 * What a conversion between chat completions and Messages costs in CPU: `node bench/dialects/convert.ts`.
 * One thread, no network; each figure is the median of several rounds after a warm-up.
 */
import { anthropicMessages } from '../../src/inference/dialects/anthropic-messages/index.ts';
import type { SseEvent } from '../../src/inference/dialects/dialect.ts';
import { openAiChat } from '../../src/inference/dialects/openai-chat/index.ts';
import type { JsonObject } from '../../src/kernel/json.ts';

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
    const us = Number(process.hrtime.bigint() - begin) / 1_000 / calls;
    // The first round warms up.
    if (round > 0) results.push(us);
  }
  return results.sort((a, b) => a - b)[Math.floor(results.length / 2)]!;
}

function conversation(bytes: number): JsonObject {
  const words = 'The quick brown fox jumps over the lazy dog, again. ';
  const messages: JsonObject[] = [{ role: 'system', content: words.repeat(8) }];
  const args = JSON.stringify({ path: 'src/a.ts', pattern: words });
  for (let i = 0; JSON.stringify(messages).length < bytes; i++) {
    const id = `call_${i}`;
    messages.push(
      { role: 'user', content: words.repeat(4) },
      {
        role: 'assistant',
        content: words,
        tool_calls: [{ id, type: 'function', function: { name: 'grep', arguments: args } }],
      },
      { role: 'tool', tool_call_id: id, content: words.repeat(12) },
    );
  }
  messages.push({ role: 'user', content: 'And now?' });
  const parameters = { type: 'object', properties: { path: { type: 'string' }, pattern: { type: 'string' } } };
  const tools = Array.from({ length: 8 }, (_, i) => ({
    type: 'function',
    function: { name: i === 0 ? 'grep' : `tool_${i}`, description: words, parameters },
  }));
  return { model: 'alias', stream: true, temperature: 0.2, max_completion_tokens: 1_024, tools, messages };
}

function answer(deltas: number): SseEvent[] {
  const usage = { input_tokens: 900, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 };
  const events: JsonObject[] = [
    {
      type: 'message_start',
      message: { id: 'msg_01', model: 'claude-sonnet-4-5', role: 'assistant', content: [], usage },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ];
  for (let i = 0; i < deltas; i++) {
    events.push({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' token and a few' } });
  }
  events.push(
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: deltas },
    },
    { type: 'message_stop' },
  );
  return events.map((event) => ({ event: String(event.type), data: JSON.stringify(event) }));
}

const head = { fallbackId: 'chatcmpl-1', model: 'alias', createdS: 1_750_000_000, includeUsage: true };
const target = { model: 'claude-sonnet-4-5', maxOutputTokens: 64_000, stream: true, omit: [] };
const print = (what: string, us: number) => console.log(`${what.padEnd(52)} ${us.toFixed(2).padStart(9)} µs`);

for (const bytes of [2_000, 100_000]) {
  const body = conversation(bytes);
  const raw = JSON.stringify(body);
  const size = `${Math.round(raw.length / 1_000)} KB`;
  const decoded = openAiChat.decodeRequest(body);
  if (!decoded.ok) throw new Error('the benchmark body is not valid');
  const neutral = decoded.value;
  const sent = anthropicMessages.encodeRequest(neutral, target);
  if (!sent.ok) throw new Error('the benchmark body cannot be sent');
  print(
    `request ${size}: JSON.parse`,
    measureUs(() => JSON.parse(raw)),
  );
  print(
    `request ${size}: check and make neutral`,
    measureUs(() => openAiChat.decodeRequest(body)),
  );
  print(
    `request ${size}: neutral to Messages`,
    measureUs(() => anthropicMessages.encodeRequest(neutral, target)),
  );
  print(
    `request ${size}: JSON.stringify`,
    measureUs(() => JSON.stringify(sent.value.body)),
  );
}

const deltas = 1_000;
const events = answer(deltas);
print(
  'stream: decode, per event',
  measureUs(() => {
    const decoder = anthropicMessages.decodeStream();
    for (const event of events) decoder.step(event);
  }) / events.length,
);
print(
  'stream: decode and encode as chat chunks, per event',
  measureUs(() => {
    const decoder = anthropicMessages.decodeStream();
    const encoder = openAiChat.encodeStream(head);
    for (const event of events) for (const neutral of decoder.step(event)) encoder.step(neutral);
  }) / events.length,
);
print(
  'stream: read in passing, per event',
  measureUs(() => {
    const reader = anthropicMessages.readInPassing();
    for (const event of events) reader.step(event);
  }) / events.length,
);
print(
  'stream: JSON.parse alone, per event',
  measureUs(() => {
    for (const event of events) JSON.parse(event.data);
  }) / events.length,
);
