import type { JsonObject } from '../../kernel/json.ts';
import { argumentParts, beforeDelta, reasoningParts, reasoningPauseMs, textParts } from '../answer-pace.ts';
import type { Step } from '../answer-steps.ts';
import { type Answer, type Choice, firstChoice } from '../compose-answer.ts';
import type { FaultSpec } from '../faults/fault-spec.ts';
import type { Prompt } from '../prompt.ts';
import { anthropicModels } from './list-models.ts';
import { readMessagesRequest } from './read-messages-request.ts';
import { signatureOf } from './signed-thought.ts';
import type { ErrorWords, Speech } from './speech.ts';

const stopReasons = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
} as const satisfies Record<Choice['finish'], string>;

/** Messages, after the reference of api.anthropic.com (version 2023-06-01). */
export const messagesSpeech: Speech = {
  read: readMessagesRequest,
  // message_start, ping, content_block_start
  introFrames: () => 3,
  // Its usage is in the finishing event, not in a separate one.
  finalParts: ['finish', 'done'],
  requestIdHeader: 'request-id',
  models: anthropicModels,
  whole: (answer, _prompt, spec) => {
    const choice = firstChoice(answer);
    const message = { ...startOf(answer), content: contentOf(choice, answer.serial), ...stopOf(choice, spec) };
    return JSON.stringify({ ...message, usage: usageOf(answer, answer.outputTokens, spec) });
  },
  frames: messagesFrames,
  errorBody: (words, requestId) => JSON.stringify(errorOf(words, requestId)),
  errorFrame: (words, requestId) => `event: error\ndata: ${JSON.stringify(errorOf(words, requestId))}\n\n`,
};

function* messagesFrames(answer: Answer, _prompt: Prompt, spec: FaultSpec): Generator<Step> {
  const choice = firstChoice(answer);
  const omit = spec.omit ?? [];
  const named = !omit.includes('names');
  const frame = (event: string, rest: string): string =>
    `${named ? `event: ${event}\n` : ''}data: {"type":"${event}"${rest}}\n\n`;

  if (!omit.includes('start')) {
    const message: JsonObject = { ...startOf(answer), content: [], stop_reason: null, stop_sequence: null };
    if (!omit.includes('usage')) message.usage = usageOf(answer, 1, spec);
    yield frame('message_start', `,"message":${JSON.stringify(message)}`);
  }
  yield frame('ping', '');
  let sent = 0;
  for (const [index, block] of blocksOf(choice, answer.serial, spec).entries()) {
    yield frame('content_block_start', `,"index":${index},"content_block":${JSON.stringify(block.opened)}`);
    for (const delta of block.deltas) {
      yield* beforeDelta(spec, sent);
      yield frame('content_block_delta', `,"index":${index},"delta":${delta}`);
      if (block.thenMs !== null) yield block.thenMs;
      sent += 1;
      if (sent === 1) {
        for (let broken = 0; broken < (spec.malformed ?? 0); broken += 1) {
          yield `${named ? 'event: content_block_delta\n' : ''}data: {"type":"content_block_delta","index":0,"delta":{"ty\n\n`;
        }
      }
    }
    yield frame('content_block_stop', `,"index":${index}`);
  }
  if (!omit.includes('finish')) {
    const usage = omit.includes('usage') ? '' : `,"usage":{"output_tokens":${answer.outputTokens}}`;
    yield frame('message_delta', `,"delta":${JSON.stringify(stopOf(choice, spec))}${usage}`);
  }
  if (!omit.includes('done')) yield frame('message_stop', '');
}

interface Block {
  opened: JsonObject;
  /** JSON of each delta. */
  deltas: string[];
  /** Pause after each delta. */
  thenMs: number | null;
}

function blocksOf(choice: Choice, serial: number, spec: FaultSpec): Block[] {
  const blocks: Block[] = [];
  if (choice.reasoning !== '') {
    const parts = reasoningParts(choice.reasoning);
    blocks.push({
      opened: { type: 'thinking', thinking: '', signature: '' },
      deltas: [
        ...parts.map((part) => `{"type":"thinking_delta","thinking":${JSON.stringify(part)}}`),
        `{"type":"signature_delta","signature":"${signatureOf(choice.reasoning)}"}`,
      ],
      thenMs: reasoningPauseMs(spec, parts.length),
    });
  }
  if (choice.text !== '') {
    blocks.push({
      opened: { type: 'text', text: '' },
      deltas: textParts(choice.text, spec).map(
        (tokens) => `{"type":"text_delta","text":${JSON.stringify(tokens.join(''))}}`,
      ),
      thenMs: null,
    });
  }
  for (const [at, call] of choice.calls.entries()) {
    blocks.push({
      opened: { type: 'tool_use', id: callIdOf(serial, at), name: call.name, input: {} },
      deltas: argumentParts(call.argumentsJson).map(
        (part) => `{"type":"input_json_delta","partial_json":${JSON.stringify(part)}}`,
      ),
      thenMs: null,
    });
  }
  return blocks;
}

function contentOf(choice: Choice, serial: number): JsonObject[] {
  const content: JsonObject[] = [];
  if (choice.reasoning !== '') {
    const signature = signatureOf(choice.reasoning);
    content.push({ type: 'thinking', thinking: choice.reasoning, signature });
  }
  if (choice.text !== '') content.push({ type: 'text', text: choice.text });
  for (const [at, call] of choice.calls.entries()) {
    content.push({
      type: 'tool_use',
      id: callIdOf(serial, at),
      name: call.name,
      input: JSON.parse(call.argumentsJson) as JsonObject,
    });
  }
  return content;
}

function startOf(answer: Answer): JsonObject {
  return { id: `msg_sim${answer.serial}`, type: 'message', role: 'assistant', model: answer.model };
}

function stopOf(choice: Choice, spec: FaultSpec): JsonObject {
  return { stop_reason: spec.finish ?? stopReasons[choice.finish], stop_sequence: choice.stopSequence };
}

// Cached input is counted apart from input_tokens here, inside prompt_tokens in chat completions.
function usageOf(answer: Answer, outputTokens: number, { tier }: FaultSpec): JsonObject {
  const isTier = tier !== 'fast' && tier !== 'us';
  return {
    input_tokens: answer.inputTokens - answer.cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: answer.cachedTokens,
    output_tokens: outputTokens,
    service_tier: isTier ? (tier ?? 'standard') : 'standard',
    ...(!isTier && { [tier === 'fast' ? 'speed' : 'inference_geo']: tier }),
  };
}

const typeByStatus: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

function errorOf(words: ErrorWords, requestId: string): JsonObject {
  const usual = typeByStatus[words.status] ?? (words.status >= 500 ? 'api_error' : 'invalid_request_error');
  return {
    type: 'error',
    error: { type: words.type ?? words.code ?? usual, message: words.message },
    request_id: requestId,
  };
}

function callIdOf(serial: number, call: number): string {
  return `toolu_sim${serial}_${call}`;
}
