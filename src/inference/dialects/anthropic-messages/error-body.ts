import type { Failure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { errorBody as openAiErrorBody } from '../openai-chat/errors.ts';

/**
 * The body of an error answer: the same `error` as everywhere, in the wrapping without which Anthropic's clients show
 * only the status (clients.md §5). `nowMs` is wall-clock time.
 */
export function errorBody(failure: Failure, requestId: string, nowMs: number): JsonObject {
  const { error } = openAiErrorBody(failure, requestId, nowMs) as { error: JsonObject };
  const message = promptTooLong(failure, error.message as string);
  return {
    type: 'error',
    error: message === null ? error : { ...error, message },
    request_id: requestId,
  };
}

/** The last frame of a broken stream. No message_stop follows: a cut answer must not look like a finished one. */
export function errorFrame(failure: Failure, requestId: string, nowMs: number): string {
  return `event: error\ndata: ${JSON.stringify(errorBody(failure, requestId, nowMs))}\n\n`;
}

/*
 * Claude Code makes its conversation shorter when it reads `prompt is too long: N tokens > M maximum`, and takes any
 * other wording for a fault of its request, which it then repeats six times (clients.md §1b).
 */

/** Ways in which servers say it, each with the tokens sent and the most allowed, where they tell. */
const wordings: readonly RegExp[] = [
  // Anthropic
  /prompt is too long: (?<sent>\d+) tokens > (?<most>\d+) maximum/i,
  // OpenAI, vLLM, DeepSeek, OpenRouter
  /maximum context length (?:is|of) (?<most>\d+) tokens.*?(?:resulted in|requested|contains|has)(?: about)?(?: at least)? (?<sent>\d+)/is,
  // xAI
  /maximum prompt length is (?<most>\d+) but the request contains (?<sent>\d+) tokens/i,
  // Google
  /input token count \(?(?<sent>\d+)\)? exceeds the maximum number of tokens allowed \(?(?<most>\d+)\)?/i,
  // Mistral
  /prompt contains (?<sent>\d+) tokens.*?too large for model with (?<most>\d+) maximum context length/is,
  // Cohere
  /total number of tokens in the prompt cannot exceed (?<most>\d+)[^\d]+(?<sent>\d+)/i,
  // llama.cpp
  /request \((?<sent>\d+) tokens\) exceeds the available context size \((?<most>\d+) tokens\)/i,
  // our own look before anything is sent (routing/candidates)
  /about (?<sent>\d+) input tokens \(its context holds (?<most>\d+)\)/i,
];

const unnumbered =
  /prompt is too long|context[ _](?:length|window)[^.]*exceed|exceeds?[^.]*(?:context (?:length|window|size)|maximum context)|maximum context length|too many tokens|reduce the length of (?:the|your) (?:messages|input|prompt)/i;

const codes: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'exceed_context_size_error',
  'context_window_exceeded',
]);

/** The message in Anthropic's wording when `failure` says that the input does not fit; null when it says else. */
export function promptTooLong(failure: Failure, message: string): string | null {
  if (failure.kind !== 'upstream-refused' && failure.kind !== 'invalid-request') return null;
  for (const wording of wordings) {
    const numbers = wording.exec(message)?.groups;
    if (numbers !== undefined) return `prompt is too long: ${numbers.sent} tokens > ${numbers.most} maximum`;
  }
  if (failure.kind !== 'upstream-refused') return null;
  const known = codes.has(failure.code ?? '') || unnumbered.test(message);
  return known ? `prompt is too long: ${message}` : null;
}
