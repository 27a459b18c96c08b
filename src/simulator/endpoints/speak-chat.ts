import type { JsonObject } from '../../kernel/json.ts';
import { argumentParts, beforeDelta, reasoningParts, reasoningPauseMs, textParts } from '../answer-pace.ts';
import type { Step } from '../answer-steps.ts';
import type { Answer, Choice } from '../compose-answer.ts';
import type { FaultSpec } from '../faults/fault-spec.ts';
import type { Prompt } from '../prompt.ts';
import { tokensOf } from '../tokens.ts';
import { logprobsOf } from './logprobs.ts';
import { readChatRequest } from './read-chat-request.ts';
import type { ErrorWords, Speech } from './speech.ts';

const fingerprint = 'fp_simulator';
const finishReasons = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
} as const satisfies Record<Choice['finish'], string>;

const doneFrame = 'data: [DONE]\n\n';
const brokenFrame =
  'data: {"id":"chatcmpl-broken","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"con\n\n';

/** Chat completions, after the reference of api.openai.com; `reasoning_content` after DeepSeek's. */
export const chatSpeech: Speech = {
  read: readChatRequest,
  introFrames: (prompt) => prompt.choices,
  finalParts: ['finish', 'usage', 'done'],
  requestIdHeader: 'x-request-id',
  whole: (answer, prompt, spec) =>
    JSON.stringify({
      id: idOf(answer),
      object: 'chat.completion',
      created: answer.createdS,
      model: answer.model,
      choices: answer.choices.map((choice, index) => ({
        index,
        message: messageOf(choice, answer.serial, index),
        logprobs: prompt.topLogprobs === null ? null : logprobsOf(tokensOf(choice.text), prompt.topLogprobs),
        finish_reason: spec.finish ?? finishReasons[choice.finish],
      })),
      usage: usageOf(answer),
      service_tier: spec.tier ?? 'default',
      system_fingerprint: fingerprint,
    }),
  frames: chatFrames,
  errorBody: (words) => JSON.stringify({ error: errorOf(words) }),
  errorFrame: (words) => `data: ${JSON.stringify({ error: errorOf(words) })}\n\n`,
};

/** Parts that the other endpoints of api.openai.com have, too. */
export const asOpenAi = {
  introFrames: () => 0,
  finalParts: ['done'],
  requestIdHeader: chatSpeech.requestIdHeader,
  errorBody: chatSpeech.errorBody,
  errorFrame: chatSpeech.errorFrame,
} as const satisfies Partial<Speech>;

function* chatFrames(answer: Answer, prompt: Prompt, spec: FaultSpec): Generator<Step> {
  const omit = spec.omit ?? [];
  const head = `data: {"id":"${idOf(answer)}","object":"chat.completion.chunk","created":${answer.createdS},"model":${JSON.stringify(answer.model)},"service_tier":${JSON.stringify(spec.tier ?? 'default')},"system_fingerprint":"${fingerprint}","choices":[`;
  // Real upstreams send `usage: null` in every chunk but the last once usage was asked.
  const tail = prompt.usageChunk === 'asked' ? '],"usage":null}\n\n' : ']}\n\n';
  const frame = (index: number, delta: string, logprobs: string, finish: string): string =>
    `${head}{"index":${index},"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish}}${tail}`;

  if (!omit.includes('start')) {
    for (const [index, choice] of answer.choices.entries()) {
      yield frame(
        index,
        `{"role":"assistant","content":${choice.calls.length > 0 ? 'null' : '""'},"refusal":null}`,
        'null',
        'null',
      );
    }
  }
  // The choices of n > 1 come interleaved, as they do from the real thing.
  const choices = answer.choices.map((choice, index) => deltasOf(choice, answer.serial, index, prompt, spec));
  const rounds = Math.max(...choices.map((deltas) => deltas.length));
  let sent = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, deltas] of choices.entries()) {
      const delta = deltas[round];
      if (delta === undefined) continue;
      yield* beforeDelta(spec, sent);
      yield frame(index, delta.json, delta.logprobs, 'null');
      if (delta.thenMs !== null) yield delta.thenMs;
      sent += 1;
      if (sent === 1) for (let broken = 0; broken < (spec.malformed ?? 0); broken += 1) yield brokenFrame;
    }
  }
  if (!omit.includes('finish')) {
    for (const [index, choice] of answer.choices.entries()) {
      yield frame(index, '{}', 'null', JSON.stringify(spec.finish ?? finishReasons[choice.finish]));
    }
  }
  if (prompt.usageChunk === 'asked' && !omit.includes('usage')) {
    yield `${head}],"usage":${JSON.stringify(usageOf(answer))}}\n\n`;
  }
  if (!omit.includes('done')) yield doneFrame;
}

interface Delta {
  json: string;
  logprobs: string;
  /** Pause after it. */
  thenMs: number | null;
}

function deltasOf(choice: Choice, serial: number, index: number, prompt: Prompt, spec: FaultSpec): Delta[] {
  const deltas: Delta[] = [];
  const thoughts = choice.reasoning === '' ? [] : reasoningParts(choice.reasoning);
  const pauseMs = reasoningPauseMs(spec, thoughts.length);
  for (const part of thoughts) {
    deltas.push({ json: `{"reasoning_content":${JSON.stringify(part)}}`, logprobs: 'null', thenMs: pauseMs });
  }
  for (const tokens of textParts(choice.text, spec)) {
    deltas.push({
      json: `{"content":${JSON.stringify(tokens.join(''))}}`,
      logprobs: prompt.topLogprobs === null ? 'null' : JSON.stringify(logprobsOf(tokens, prompt.topLogprobs)),
      thenMs: null,
    });
  }
  for (const [at, call] of choice.calls.entries()) {
    const opened = {
      index: at,
      id: callIdOf(serial, index, at),
      type: 'function',
      function: { name: call.name, arguments: '' },
    };
    deltas.push({ json: JSON.stringify({ tool_calls: [opened] }), logprobs: 'null', thenMs: null });
    for (const part of argumentParts(call.argumentsJson)) {
      const json = JSON.stringify({ tool_calls: [{ index: at, function: { arguments: part } }] });
      deltas.push({ json, logprobs: 'null', thenMs: null });
    }
  }
  return deltas;
}

function messageOf(choice: Choice, serial: number, index: number): JsonObject {
  const message: JsonObject = {
    role: 'assistant',
    content: choice.calls.length > 0 && choice.text === '' ? null : choice.text,
    refusal: null,
    annotations: [],
  };
  if (choice.reasoning !== '') message.reasoning_content = choice.reasoning;
  if (choice.calls.length > 0) {
    message.tool_calls = choice.calls.map((call, at) => ({
      id: callIdOf(serial, index, at),
      type: 'function',
      function: { name: call.name, arguments: call.argumentsJson },
    }));
  }
  return message;
}

function usageOf(answer: Answer): JsonObject {
  return {
    prompt_tokens: answer.inputTokens,
    completion_tokens: answer.outputTokens,
    total_tokens: answer.inputTokens + answer.outputTokens,
    prompt_tokens_details: { cached_tokens: answer.cachedTokens, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: answer.reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

const typeByStatus: Readonly<Record<number, string>> = {
  429: 'rate_limit_exceeded',
  500: 'server_error',
  502: 'server_error',
  503: 'server_error',
  504: 'server_error',
};
const codeByStatus: Readonly<Record<number, string>> = { 401: 'invalid_api_key', 429: 'rate_limit_exceeded' };

function errorOf(words: ErrorWords): JsonObject {
  return {
    message: words.message,
    type:
      words.type ??
      words.code ??
      typeByStatus[words.status] ??
      (words.status >= 500 ? 'server_error' : 'invalid_request_error'),
    param: words.param,
    code: words.code ?? codeByStatus[words.status] ?? null,
  };
}

function idOf(answer: Answer): string {
  return `chatcmpl-sim${answer.serial}`;
}

function callIdOf(serial: number, choice: number, call: number): string {
  return `call_sim${serial}_${choice}_${call}`;
}
