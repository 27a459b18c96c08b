import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { argumentParts, beforeDelta, reasoningParts, reasoningPauseMs, textParts } from '../answer-pace.ts';
import type { Step } from '../answer-steps.ts';
import { type Answer, type Call, type Choice, firstChoice } from '../compose-answer.ts';
import type { FaultSpec } from '../faults/fault-spec.ts';
import type { Prompt } from '../prompt.ts';
import { tokensOf } from '../tokens.ts';
import { logprobsOf } from './logprobs.ts';
import { readResponsesRequest } from './read-responses-request.ts';
import type { ErrorWords, Speech } from './speech.ts';

const encrypted = 'gAAAAABsimulated';

/** Responses, after the reference of api.openai.com. */
export const responsesSpeech: Speech = {
  read: readResponsesRequest,
  // response.created, response.in_progress, response.output_item.added, and the part's beginning
  introFrames: () => 4,
  // One event has its usage and its end.
  finalParts: ['done'],
  requestIdHeader: 'x-request-id',
  whole: (answer, prompt, spec) => JSON.stringify(ended(answer, prompt, spec)),
  frames: responsesFrames,
  counted: (inputTokens) => `{"object":"response.input_tokens","input_tokens":${inputTokens}}`,
  errorBody: (words) => JSON.stringify({ error: errorOf(words) }),
  errorFrame: (words) => {
    const error = { code: words.code ?? words.type ?? 'server_error', message: words.message };
    const response = { object: 'response', status: 'failed', error };
    return `event: response.failed\ndata: ${JSON.stringify({ type: 'response.failed', response })}\n\n`;
  },
};

const brokenFrame = 'data: {"type":"response.output_text.delta","item_id":"msg_broken","del\n\n';

function* responsesFrames(answer: Answer, prompt: Prompt, spec: FaultSpec): Generator<Step> {
  const omit = spec.omit ?? [];
  let sequence = 0;
  const frame = (type: string, members: JsonObject): string => {
    const data = JSON.stringify({ type, sequence_number: sequence, ...members });
    sequence += 1;
    return `${omit.includes('names') ? '' : `event: ${type}\n`}data: ${data}\n\n`;
  };
  if (!omit.includes('start')) {
    const response = responseOf(answer, 'in_progress', []);
    yield frame('response.created', { response });
    yield frame('response.in_progress', { response });
  }
  let sent = 0;
  for (const [index, item] of itemsOf(answer, prompt).entries()) {
    const at = { item_id: item.id, output_index: index };
    yield frame('response.output_item.added', { output_index: index, item: item.opened });
    if (item.part !== null) yield frame(item.part.added, { ...at, ...item.part.at, part: item.part.empty });
    for (const delta of item.deltas(spec)) {
      yield* beforeDelta(spec, sent);
      yield frame(item.delta, { ...at, ...item.part?.at, delta: delta.text, ...delta.more });
      if (delta.thenMs !== null) yield delta.thenMs;
      sent += 1;
      if (sent === 1) for (let broken = 0; broken < (spec.malformed ?? 0); broken += 1) yield brokenFrame;
    }
    yield frame(item.done, { ...at, ...item.part?.at, ...item.doneWith });
    if (item.part !== null) yield frame(item.part.done, { ...at, ...item.part.at, part: item.part.full });
    yield frame('response.output_item.done', { output_index: index, item: item.closed });
  }
  if (omit.includes('done') || omit.includes('finish')) return;
  const response = ended(answer, prompt, spec);
  if (omit.includes('usage')) delete response.usage;
  yield frame(`response.${String(response.status)}`, { response });
}

interface Item {
  id: string;
  opened: JsonObject;
  closed: JsonObject;
  /** Part that holds the deltas within the item; null for calls, which hold them themselves. */
  part: { added: string; done: string; at: JsonObject; empty: JsonObject; full: JsonObject } | null;
  delta: string;
  deltas(spec: FaultSpec): { text: string; more: JsonObject; thenMs: number | null }[];
  done: string;
  doneWith: JsonObject;
}

function itemsOf(answer: Answer, prompt: Prompt): Item[] {
  const choice = firstChoice(answer);
  const items: Item[] = [];
  if (choice.reasoning !== '') items.push(thoughtItem(choice, `rs_sim${answer.serial}`));
  if (choice.text !== '') items.push(messageItem(choice, prompt, `msg_sim${answer.serial}`));
  for (const [at, call] of choice.calls.entries()) items.push(callItem(call, answer.serial, at));
  return items;
}

function thoughtItem(choice: Choice, id: string): Item {
  const full = { type: 'summary_text', text: choice.reasoning };
  return {
    id,
    opened: { id, type: 'reasoning', summary: [] },
    closed: { id, type: 'reasoning', summary: [full], encrypted_content: encrypted },
    part: {
      added: 'response.reasoning_summary_part.added',
      done: 'response.reasoning_summary_part.done',
      at: { summary_index: 0 },
      empty: { type: 'summary_text', text: '' },
      full,
    },
    delta: 'response.reasoning_summary_text.delta',
    deltas: (spec) => {
      const parts = reasoningParts(choice.reasoning);
      const thenMs = reasoningPauseMs(spec, parts.length);
      return parts.map((text) => ({ text, more: {}, thenMs }));
    },
    done: 'response.reasoning_summary_text.done',
    doneWith: { text: choice.reasoning },
  };
}

function messageItem(choice: Choice, prompt: Prompt, id: string): Item {
  const logprobs = (tokens: readonly string[]): JsonValue =>
    prompt.topLogprobs === null ? [] : contentOf(logprobsOf([...tokens], prompt.topLogprobs));
  const partOf = (text: string): JsonObject => ({
    type: 'output_text',
    text,
    annotations: [],
    logprobs: logprobs(text === '' ? [] : tokensOf(text)),
  });
  const message = { id, type: 'message', role: 'assistant' };
  const status = choice.finish === 'length' ? 'incomplete' : 'completed';
  return {
    id,
    opened: { ...message, status: 'in_progress', content: [] },
    closed: { ...message, status, content: [partOf(choice.text)] },
    part: {
      added: 'response.content_part.added',
      done: 'response.content_part.done',
      at: { content_index: 0 },
      empty: partOf(''),
      full: partOf(choice.text),
    },
    delta: 'response.output_text.delta',
    deltas: (spec) =>
      textParts(choice.text, spec).map((tokens) => ({
        text: tokens.join(''),
        more: { logprobs: logprobs(tokens) },
        thenMs: null,
      })),
    done: 'response.output_text.done',
    doneWith: { text: choice.text, logprobs: logprobs(tokensOf(choice.text)) },
  };
}

function contentOf(logprobs: unknown): JsonValue {
  return isObject(logprobs) && Array.isArray(logprobs.content) ? logprobs.content : [];
}

function callItem(call: Call, serial: number, at: number): Item {
  const { name, namespace } = call;
  const ids = { call_id: `call_sim${serial}_${at}`, name, ...(namespace !== undefined && { namespace }) };
  if (call.takes === 'text') {
    const id = `ctc_sim${serial}_${at}`;
    const input = textIn(call.argumentsJson);
    const item = { id, type: 'custom_tool_call', ...ids };
    return {
      id,
      opened: { ...item, status: 'in_progress', input: '' },
      closed: { ...item, status: 'completed', input },
      part: null,
      delta: 'response.custom_tool_call_input.delta',
      deltas: () => argumentParts(input).map((text) => ({ text, more: {}, thenMs: null })),
      done: 'response.custom_tool_call_input.done',
      doneWith: { input },
    };
  }
  const id = `fc_sim${serial}_${at}`;
  const item = { id, type: 'function_call', ...ids };
  return {
    id,
    opened: { ...item, status: 'in_progress', arguments: '' },
    closed: { ...item, status: 'completed', arguments: call.argumentsJson },
    part: null,
    delta: 'response.function_call_arguments.delta',
    deltas: () => argumentParts(call.argumentsJson).map((text) => ({ text, more: {}, thenMs: null })),
    done: 'response.function_call_arguments.done',
    doneWith: { name: call.name, arguments: call.argumentsJson },
  };
}

function textIn(argumentsJson: string): string {
  const value = JSON.parse(argumentsJson) as JsonObject;
  return typeof value.input === 'string' ? value.input : argumentsJson;
}

function ended(answer: Answer, prompt: Prompt, spec: FaultSpec): JsonObject {
  const reason = incompleteReason(spec.finish ?? firstChoice(answer).finish);
  const response = responseOf(
    answer,
    reason === null ? 'completed' : 'incomplete',
    itemsOf(answer, prompt).map((item) => item.closed),
  );
  if (reason !== null) response.incomplete_details = { reason };
  if (spec.tier !== undefined) response.service_tier = spec.tier;
  response.usage = {
    input_tokens: answer.inputTokens,
    input_tokens_details: { cached_tokens: answer.cachedTokens, cache_write_tokens: 0 },
    output_tokens: answer.outputTokens,
    output_tokens_details: { reasoning_tokens: answer.reasoningTokens },
    total_tokens: answer.inputTokens + answer.outputTokens,
  };
  return response;
}

/** It has words only for answers that are not whole; `finish=…` gives them as written. */
function incompleteReason(finish: string): string | null {
  if (finish === 'length') return 'max_output_tokens';
  return finish === 'stop' || finish === 'stop-sequence' || finish === 'tool-calls' ? null : finish;
}

function responseOf(answer: Answer, status: string, output: JsonObject[]): JsonObject {
  return {
    id: `resp_sim${answer.serial}`,
    object: 'response',
    created_at: answer.createdS,
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    model: answer.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    store: false,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    metadata: {},
    text: { format: { type: 'text' } },
  };
}

function errorOf(words: ErrorWords): JsonObject {
  const usual = words.status === 429 ? 'rate_limit_exceeded' : words.status >= 500 ? 'server_error' : null;
  return {
    message: words.message,
    type: words.type ?? (words.status >= 500 ? 'server_error' : 'invalid_request_error'),
    param: words.param,
    code: words.code ?? usual,
  };
}
