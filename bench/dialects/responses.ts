/**
 * What callers of Responses cost in CPU, and providers of it: `node bench/dialects/responses.ts`. The request is shaped
 * as Codex's. One thread, no network; each figure is the median of several rounds after a warm-up.
 */
import { anthropicMessages } from '../../src/inference/dialects/anthropic-messages/index.ts';
import type { SseEvent, UpstreamDialect } from '../../src/inference/dialects/dialect.ts';
import { gemini } from '../../src/inference/dialects/gemini/index.ts';
import { openAiChat } from '../../src/inference/dialects/openai-chat/index.ts';
import { openAiResponses } from '../../src/inference/dialects/openai-responses/index.ts';
import type { NeutralEvent } from '../../src/inference/neutral/event.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { scanJson } from '../../src/kernel/json-scan.ts';
import { codexTurn } from '../../test/clients/codex-body.ts';
import { measureUs, print } from './measure.ts';

const history: JsonObject[] = [];
while (JSON.stringify(history).length < 62_000) {
  const call_id = `call_${history.length}`;
  history.push(
    { type: 'reasoning', id: `rs_${call_id}`, summary: [], encrypted_content: 'gAAAAABo'.repeat(40) },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look at it. '.repeat(8) }] },
    { type: 'function_call', call_id, name: 'shell', arguments: '{"command":["cat","main.ts"]}' },
    { type: 'function_call_output', call_id, output: 'a line of the file\n'.repeat(40) },
  );
}
const raw = Buffer.from(JSON.stringify(codexTurn('Go on', history)));
const size = `${Math.round(raw.length / 1_000)} KB`;
const parsed = JSON.parse(raw.toString()) as JsonObject;
const scan = scanJson(raw, 64);
const read = openAiResponses.readRequest(raw, parsed, scan);
if (!read.ok) throw new Error('the benchmark body is not valid');
const request = read.value;
const target = { model: 'x', maxOutputTokens: 64_000, stream: true, omit: [] };

print(
  `request ${size}: parse and check`,
  measureUs(() => openAiResponses.readRequest(raw, JSON.parse(raw.toString()) as JsonObject, scanJson(raw, 64))),
);
print(
  `request ${size}: the bytes for a provider of Responses`,
  measureUs(() =>
    request.forward({ model: 'x', maxOutputTokens: 64_000, body: {}, streamUsage: 'leave', omit: [], rename: {} }),
  ),
);
for (const upstream of [openAiChat, anthropicMessages, gemini]) {
  print(
    `request ${size}: parse, check, convert to ${upstream.id}, write`,
    measureUs(() => {
      const body = JSON.parse(raw.toString()) as JsonObject;
      const neutral = openAiResponses.decodeRequest(body);
      if (!neutral.ok) throw new Error('refused');
      const encoded = upstream.encodeRequest(neutral.value, target);
      if (encoded.ok) JSON.stringify(encoded.value.body);
    }),
  );
}

const deltas = 200;
const head = { fallbackId: 'resp_1', model: 'm', createdS: 0, includeUsage: true };
const answer: NeutralEvent[] = [
  { type: 'start', id: 'x', model: 'm', createdS: 0 },
  ...Array.from({ length: deltas }, (): NeutralEvent => ({ type: 'text-delta', choice: 0, text: ' token' })),
  { type: 'finish', choice: 0, reason: 'stop', stopSequence: null },
  { type: 'usage', usage: { inputTokens: 10, outputTokens: deltas } },
  { type: 'end' },
];

/** The answer on the wire, as events of its stream. */
function wireOf(frames: string): SseEvent[] {
  return frames
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => ({
      event: /^event: (.*)$/m.exec(frame)?.[1] ?? '',
      data: /^data: (.*)$/m.exec(frame)?.[1] ?? '',
    }));
}

const inResponses = wireOf(encoded(openAiResponses));
const inChat = wireOf(encoded(openAiChat));
const inMessages = wireOf(encoded(anthropicMessages));

function encoded(dialect: Pick<typeof openAiChat, 'encodeStream'>): string {
  const encoder = dialect.encodeStream(head);
  return answer.map((event) => encoder.step(event)).join('');
}

function converted(from: UpstreamDialect, events: readonly SseEvent[], to: Pick<typeof openAiChat, 'encodeStream'>) {
  const decoder = from.decodeStream();
  const encoder = to.encodeStream(head);
  for (const event of events) for (const said of decoder.step(event)) encoder.step(said);
}

const perDelta = (what: string, call: () => unknown) => print(`stream: ${what}, per delta`, measureUs(call) / deltas);
perDelta('chat → Responses', () => converted(openAiChat, inChat, openAiResponses));
perDelta('Messages → Responses', () => converted(anthropicMessages, inMessages, openAiResponses));
perDelta('Responses → chat', () => converted(openAiResponses, inResponses, openAiChat));
perDelta('Responses → Messages', () => converted(openAiResponses, inResponses, anthropicMessages));
perDelta('Responses, read in passing', () => {
  const reader = openAiResponses.readInPassing();
  for (const event of inResponses) reader.step(event);
});
