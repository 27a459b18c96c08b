import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import { beforeDelta, reasoningParts, reasoningPauseMs, textParts } from '../../src/simulator/answer-pace.ts';
import type { Step } from '../../src/simulator/answer-steps.ts';
import type { Answer, Choice } from '../../src/simulator/compose-answer.ts';
import type { ModelForm } from '../../src/simulator/endpoints/list-models.ts';
import { logprobsOf } from '../../src/simulator/endpoints/logprobs.ts';
import type { ErrorWords, Speech } from '../../src/simulator/endpoints/speech.ts';
import type { FaultSpec } from '../../src/simulator/faults/fault-spec.ts';
import type { Prompt } from '../../src/simulator/prompt.ts';
import { tokensOf } from '../../src/simulator/tokens.ts';
import { mediaParts, wholeMediaParts } from './gemini-media.ts';
import { readGeminiRequest, signsCalls } from './read-gemini-request.ts';

const finishReasons = {
  stop: 'STOP',
  'stop-sequence': 'STOP',
  length: 'MAX_TOKENS',
  // It has no word for calls.
  'tool-calls': 'STOP',
} as const satisfies Record<Choice['finish'], string>;

const signature = 'c2ltdWxhdGVk';

const geminiModels: ModelForm = {
  list: (models) => ({ models: [...models] }),
  one(id) {
    const supportedGenerationMethods = id.includes('embed')
      ? ['embedContent', 'batchEmbedContents']
      : ['generateContent', 'streamGenerateContent'];
    return { name: `models/${id}`, displayName: id, inputTokenLimit: 1_048_576, supportedGenerationMethods };
  },
};

/** `generateContent`, after the reference of generativelanguage.googleapis.com (v1beta). */
export const geminiSpeech: Speech = {
  read: readGeminiRequest,
  introFrames: () => 0,
  // Its end is the end of the bytes, behind a chunk that says why.
  finalParts: ['finish'],
  requestIdHeader: 'x-request-id',
  models: geminiModels,
  whole: (answer, prompt, spec) =>
    JSON.stringify(
      withLogprobs(
        chunkOf(answer, wholeMediaParts(prompt, spec) ?? wholeParts(answer), finishOf(answer, spec), 'told'),
        prompt,
      ),
    ),
  frames: geminiFrames,
  counted: (inputTokens) => `{"totalTokens":${inputTokens}}`,
  errorBody: (words) => JSON.stringify(errorOf(words)),
  errorFrame: (words) => frame(errorOf(words)),
};

function frame(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\r\n\r\n`;
}

function* geminiFrames(answer: Answer, prompt: Prompt, spec: FaultSpec): Generator<Step> {
  const choice = answer.choices[0]!;
  const omit = spec.omit ?? [];
  const usage = omit.includes('usage') ? 'untold' : 'told';
  const finish = omit.includes('finish') ? null : finishOf(answer, spec);
  const thoughts = reasoningParts(choice.reasoning);
  const deltas: JsonObject[] = mediaParts(prompt, spec) ?? [
    ...thoughts.map((text) => ({ text, thought: true })),
    ...textParts(choice.text, spec).map((tokens) => ({ text: tokens.join('') })),
    ...callParts(answer),
  ];
  const pauseMs = reasoningPauseMs(spec, thoughts.length);
  for (const [at, part] of deltas.entries()) {
    yield* beforeDelta(spec, at);
    yield frame(withLogprobs(chunkOf(answer, [part], null, 'untold'), prompt));
    if (pauseMs !== null && at < thoughts.length) yield pauseMs;
    if (at === 0) {
      for (let broken = 0; broken < (spec.malformed ?? 0); broken += 1) yield 'data: {"candidates":[{"con\r\n\r\n';
    }
  }
  if (finish !== null) yield frame(chunkOf(answer, [{ text: '' }], finish, usage));
}

function finishOf(answer: Answer, spec: FaultSpec): string {
  return spec.finish ?? finishReasons[answer.choices[0]!.finish];
}

function wholeParts(answer: Answer): JsonObject[] {
  const choice = answer.choices[0]!;
  return [
    ...(choice.reasoning === '' ? [] : [{ text: choice.reasoning, thought: true }]),
    ...(choice.text === '' ? [] : [{ text: choice.text }]),
    ...callParts(answer),
  ];
}

function callParts(answer: Answer): JsonObject[] {
  const signs = signsCalls(answer.model);
  return answer.choices[0]!.calls.map((call, at) => {
    const functionCall: JsonObject = { name: call.name, args: JSON.parse(call.argumentsJson) as JsonObject };
    if (signs) functionCall.id = `fc_sim${answer.serial}_${at}`;
    return { functionCall, ...(signs && at === 0 ? { thoughtSignature: signature } : {}) };
  });
}

function chunkOf(answer: Answer, parts: JsonObject[], finish: string | null, usage: 'told' | 'untold'): JsonObject {
  const candidate: JsonObject = { content: { parts, role: 'model' }, index: 0 };
  if (finish !== null) candidate.finishReason = finish;
  const chunk: JsonObject = { candidates: [candidate] };
  if (usage === 'told') chunk.usageMetadata = usageOf(answer);
  return { ...chunk, modelVersion: answer.model, responseId: `sim${answer.serial}` };
}

/** Of the words that a chunk shows, if they were requested. */
function withLogprobs(chunk: JsonObject, { topLogprobs }: Prompt): JsonObject {
  const [candidate] = chunk.candidates as (JsonObject & { content: { parts: JsonObject[] } })[];
  const text = candidate!.content.parts.map((part) => (part.thought === true ? '' : String(part.text ?? ''))).join('');
  if (topLogprobs === null || text === '') return chunk;
  const chosen = (logprobsOf(tokensOf(text), topLogprobs).content as JsonObject[]).filter(isObject);
  const inItsWords = ({ token, logprob }: JsonObject): JsonObject => ({ token: token!, logProbability: logprob! });
  const logprobsResult = {
    chosenCandidates: chosen.map(inItsWords),
    topCandidates: chosen.map((one) => ({ candidates: (one.top_logprobs as JsonObject[]).map(inItsWords) })),
  };
  return { ...chunk, candidates: [{ ...candidate, logprobsResult }] };
}

// Thoughts are counted apart from the candidate's tokens here, inside completion_tokens in chat completions.
function usageOf(answer: Answer): JsonObject {
  const usage: JsonObject = {
    promptTokenCount: answer.inputTokens,
    candidatesTokenCount: answer.outputTokens - answer.reasoningTokens,
    totalTokenCount: answer.inputTokens + answer.outputTokens,
  };
  if (answer.reasoningTokens > 0) usage.thoughtsTokenCount = answer.reasoningTokens;
  if (answer.cachedTokens > 0) usage.cachedContentTokenCount = answer.cachedTokens;
  return usage;
}

const statusWords: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

function errorOf({ status, message, code, type }: ErrorWords): JsonObject {
  const word = type ?? statusWords[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT');
  const error: JsonObject = { code: status, message, status: word };
  if (code !== null) {
    error.details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'googleapis.com' }];
  }
  return { error };
}
