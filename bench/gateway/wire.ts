import { Buffer } from 'node:buffer';

/** The prompt tells the upstream what to do: every proxy and every conversion carries it along. */
export type StreamKind = 'paced' | 'slow' | 'short' | 'flood';

/** A frame carries the instant of its writing: µs of the monotonic clock, which all processes share. */
export const stampMark = '@us=';
export const stampDigits = 16;

export function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

export function stamp(us: number): string {
  return String(us).padStart(stampDigits, '0');
}

const answerBytes = 2_048;

/** A chat completion of exactly 2 KB. */
export const wholeAnswer: Buffer = wholeAnswerOf('');

function wholeAnswerOf(filler: string): Buffer {
  const body = Buffer.from(
    JSON.stringify({
      id: 'chatcmpl-bench',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'bench-model',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: `An answer.${filler}` },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 40, completion_tokens: 400, total_tokens: 440 },
    }),
  );
  return body.length === answerBytes
    ? body
    : wholeAnswerOf(' word'.repeat(answerBytes).slice(0, answerBytes - body.length));
}

/** One dialect's frames; `chunk` is about 180 bytes, with room for a stamp. */
export interface StreamFrames {
  head: string;
  chunk(stampText: string): string;
  tail: string;
}

export const openAiFrames: StreamFrames = {
  head: openAiChunk({ role: 'assistant', content: '' }, null),
  chunk: (stampText) => openAiChunk({ content: ` ${stampMark}${stampText}` }, null),
  tail: `${openAiChunk({}, 'stop')}data: [DONE]\n\n`,
};

function openAiChunk(delta: Record<string, string>, finish: string | null): string {
  const chunk = {
    id: 'chatcmpl-bench',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'bench-model',
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

export const anthropicFrames: StreamFrames = {
  head:
    anthropicFrame({
      type: 'message_start',
      message: {
        id: 'msg_bench',
        type: 'message',
        role: 'assistant',
        model: 'bench-model',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 40, output_tokens: 1 },
      },
    }) + anthropicFrame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  chunk: (stampText) =>
    anthropicFrame({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: ` some more words ${stampMark}${stampText}` },
    }),
  tail:
    anthropicFrame({ type: 'content_block_stop', index: 0 }) +
    anthropicFrame({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 400 },
    }) +
    anthropicFrame({ type: 'message_stop' }),
};

function anthropicFrame(data: { type: string } & Record<string, unknown>): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A chat request as the load client sends it, headers and all. */
export function chatRequest(order: {
  headers: Readonly<Record<string, string>>;
  model: string;
  stream: StreamKind | null;
}): Buffer {
  const body = JSON.stringify({
    model: order.model,
    messages: [
      { role: 'system', content: 'You are a helpful assistant. Answer in a few words.' },
      { role: 'user', content: `What is the height of the tower? bench:${order.stream ?? 'whole'}` },
    ],
    temperature: 0.7,
    max_tokens: 512,
    ...(order.stream === null ? {} : { stream: true }),
  });
  const headers = Object.entries(order.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers.join('')}\r\n${body}`,
  );
}
