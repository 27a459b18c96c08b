/**
 * What Bedrock costs over other providers: an event of its streams against a server-sent one, and the signature of a
 * request. `npm run bench -- bedrock` prints both.
 */

import { anthropicMessages } from '../../src/formats/dialects/anthropic-messages/index.ts';
import { bedrockConverse } from '../../src/formats/dialects/bedrock-converse/index.ts';
import type { UpstreamDialect } from '../../src/formats/dialects/dialect.ts';
import { openAiChat } from '../../src/formats/dialects/openai-chat/index.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { awsAuthorizer } from '../../src/upstream/credentials/aws-signature.ts';
import { eventStreamType } from '../../src/upstream/transport/event-stream.ts';
import { createTransport } from '../../src/upstream/transport/send.ts';
import { createSplitter } from '../../src/upstream/transport/sse-reader.ts';
import type { UpstreamRequest } from '../../src/upstream/transport/upstream-call.ts';
import { testAwsKeys } from '../../test/upstream-formats/start-aws.ts';
import { frameOf, textStream } from '../../test/upstream-formats/start-bedrock.ts';
import { measureUs } from '../dialects/measure.ts';
import { finish } from '../results.ts';
import { judged, print, told } from '../rows.ts';

const deltas = 500;
const text = ' token and a few';
const head = { fallbackId: 'id_1', model: 'alias', createdS: 1_750_000_000, includeUsage: true };

/** From the bytes that came to the bytes that a chat caller gets, each event in a chunk of its own. */
function read(dialect: UpstreamDialect, contentType: string, chunks: readonly Buffer[]): void {
  const splitter = createSplitter(contentType, dialect);
  const decoder = dialect.decodeStream();
  const encoder = openAiChat.encodeStream(head);
  let ended = false;
  for (const chunk of chunks) {
    for (const event of splitter.push(chunk)) {
      for (const said of decoder.step(event)) {
        encoder.step(said);
        ended ||= said.type === 'end';
      }
    }
  }
  if (!ended) throw new Error(`${dialect.id}: no end seen`);
}

function sseOf(data: { type: string }): Buffer {
  return Buffer.from(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
}

const frames = textStream(Array.from({ length: deltas }, () => text)).map((event) => Buffer.from(frameOf(event)));
const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } };
const events = [
  {
    type: 'message_start',
    message: { id: 'm', model: 'm', content: [], usage: { input_tokens: 9, output_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...Array.from({ length: deltas }, () => delta),
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: deltas } },
  { type: 'message_stop' },
].map(sseOf);

const sse = measureUs(() => read(anthropicMessages, 'text/event-stream', events)).map((us) => us / events.length);
const bedrock = measureUs(() => read(bedrockConverse, eventStreamType, frames)).map((us) => us / frames.length);
const best = Math.min(...sse);
const ratio = { atMost: 1.6, unit: ' ×', digits: 2 };

const authorize = awsAuthorizer({ keys: testAwsKeys, region: 'us-east-1' }, 'bedrock', systemClock);
const request: UpstreamRequest = {
  origin: 'https://bedrock-runtime.us-east-1.amazonaws.com',
  path: '/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream',
  method: 'POST',
  headers: ['content-type', 'application/json', 'accept', eventStreamType, 'user-agent', 'culvert'],
  body: JSON.stringify({ messages: [{ role: 'user', content: [{ text: 'word '.repeat(400) }] }] }),
  connectTimeoutMs: 1,
  headersTimeoutMs: 1,
  bodyTimeoutMs: 1,
};
const transport = createTransport();
const signaturesUs: number[] = [];
const signatures = 5_000;
for (let round = 0; round < 6; round++) {
  const startNs = process.hrtime.bigint();
  for (let i = 0; i < signatures; i++) await authorize(request, transport);
  // The first round warms up.
  if (round > 0) signaturesUs.push(Number(process.hrtime.bigint() - startNs) / 1_000 / signatures);
}
const rows = [
  told('a server-sent event of Messages, as chat', `${best.toFixed(2)} µs`),
  judged('an event of ConverseStream over it', [Math.min(...bedrock) / best], ratio),
  judged('signature of a request of 2 kB', signaturesUs, { atMost: 25, unit: ' µs', digits: 1 }),
];
print(rows);
transport.destroy();
finish({
  subject: 'bedrock',
  command: 'npm run bench -- bedrock',
  how: 'Streams are read and written as chunks of chat, both in one thread. The signer is called alone.',
  rows,
});
