import { isObject, type JsonObject } from '../../src/kernel/json.ts';
import {
  argumentParts,
  beforeDelta,
  reasoningParts,
  reasoningPauseMs,
  textParts,
} from '../../src/simulator/answer-pace.ts';
import type { Step } from '../../src/simulator/answer-steps.ts';
import type { Answer, Choice } from '../../src/simulator/compose-answer.ts';
import type { Speech } from '../../src/simulator/endpoints/speech.ts';
import type { FaultSpec } from '../../src/simulator/faults/fault-spec.ts';
import type { Prompt } from '../../src/simulator/prompt.ts';
import { readCohereRequest } from './read-cohere-request.ts';

const finishReasons = {
  stop: 'COMPLETE',
  'stop-sequence': 'STOP_SEQUENCE',
  length: 'MAX_TOKENS',
  'tool-calls': 'TOOL_CALL',
} as const satisfies Record<Choice['finish'], string>;

/** Tokens of Cohere's own template, which it counts and does not bill. */
export const templateTokens = 488;

const plan = 'I will call the tool.';

/**
 * Chat v2, after https://docs.cohere.com/reference/chat and the guide to streaming. It plans its tool calls, and cites the
 * first document with the first word of its answer.
 */
export const cohereChatSpeech: Speech = {
  read: readCohereRequest,
  // message-start, content-start
  introFrames: () => 2,
  finalParts: ['finish'],
  requestIdHeader: 'x-debug-trace-id',
  whole: (answer, prompt, spec) => {
    const choice = answer.choices[0]!;
    const content = [
      ...(choice.reasoning === '' ? [] : [{ type: 'thinking', thinking: choice.reasoning }]),
      ...(choice.text === '' ? [] : [{ type: 'text', text: choice.text }]),
    ];
    const calls = callsOf(answer);
    const citations = citationsOf(choice, prompt);
    const message: JsonObject = { role: 'assistant' };
    if (content.length > 0) message.content = content;
    if (calls.length > 0) Object.assign(message, { tool_plan: plan, tool_calls: calls });
    if (citations.length > 0) message.citations = citations;
    return JSON.stringify({ id: idOf(answer), message, ...endOf(answer, spec) });
  },
  frames: cohereFrames,
  errorBody: ({ message }, requestId) => JSON.stringify({ id: requestId, message }),
  errorFrame: ({ message }) => `data: ${JSON.stringify({ message })}\n\n`,
};

function* cohereFrames(answer: Answer, prompt: Prompt, spec: FaultSpec): Generator<Step> {
  const choice = answer.choices[0]!;
  const omit = spec.omit ?? [];
  const frame = (type: string, rest: JsonObject): string =>
    `${omit.includes('names') ? '' : `event: ${type}\n`}data: ${JSON.stringify({ type, ...rest })}\n\n`;
  const delta = (message: JsonObject) => ({ delta: { message } });

  const opened = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] };
  if (!omit.includes('start')) yield frame('message-start', { id: idOf(answer), ...delta(opened) });
  let sent = 0;
  function* sending(text: string): Generator<Step> {
    yield* beforeDelta(spec, sent);
    yield text;
    sent += 1;
    if (sent === 1) {
      for (let broken = 0; broken < (spec.malformed ?? 0); broken += 1) yield 'data: {"type":"content-del\n\n';
    }
  }
  const calls = callsOf(answer);
  const thoughts = reasoningParts(choice.reasoning);
  const pauseMs = reasoningPauseMs(spec, thoughts.length);
  let index = 0;
  if (thoughts.length > 0) {
    yield frame('content-start', { index, ...delta({ content: { type: 'thinking', thinking: '' } }) });
    for (const thinking of thoughts) {
      yield* sending(frame('content-delta', { index, ...delta({ content: { thinking } }) }));
      if (pauseMs !== null) yield pauseMs;
    }
    yield frame('content-end', { index });
    index += 1;
  }
  if (choice.text !== '') {
    yield frame('content-start', { index, ...delta({ content: { type: 'text', text: '' } }) });
    for (const tokens of textParts(choice.text, spec)) {
      yield* sending(frame('content-delta', { index, ...delta({ content: { text: tokens.join('') } }) }));
    }
    for (const [at, citations] of citationsOf(choice, prompt).entries()) {
      yield frame('citation-start', { index: at, ...delta({ citations }) });
      yield frame('citation-end', { index: at });
    }
    yield frame('content-end', { index });
  }
  if (calls.length > 0) yield* sending(frame('tool-plan-delta', delta({ tool_plan: plan })));
  for (const [at, { function: called, ...call }] of calls.entries()) {
    const { name, arguments: args } = called as { name: string; arguments: string };
    const begun = { ...call, function: { name, arguments: '' } };
    yield* sending(frame('tool-call-start', { index: at, ...delta({ tool_calls: begun }) }));
    for (const part of argumentParts(args)) {
      const more = { tool_calls: { function: { arguments: part } } };
      yield* sending(frame('tool-call-delta', { index: at, ...delta(more) }));
    }
    yield frame('tool-call-end', { index: at });
  }
  if (!omit.includes('finish')) yield frame('message-end', { id: idOf(answer), delta: endOf(answer, spec) });
}

function endOf(answer: Answer, spec: FaultSpec): JsonObject {
  const { inputTokens, outputTokens, cachedTokens } = answer;
  const finish = { finish_reason: spec.finish ?? finishReasons[answer.choices[0]!.finish] };
  if (spec.omit?.includes('usage')) return finish;
  const usage: JsonObject = {
    billed_units: { input_tokens: inputTokens, output_tokens: outputTokens },
    tokens: { input_tokens: inputTokens + templateTokens, output_tokens: outputTokens + 2 },
  };
  if (cachedTokens > 0) usage.cached_tokens = cachedTokens;
  return { ...finish, usage };
}

function callsOf(answer: Answer): JsonObject[] {
  return answer.choices[0]!.calls.map((call, at) => ({
    id: `${call.name}_sim${answer.serial}_${at}`,
    type: 'function',
    function: { name: call.name, arguments: call.argumentsJson },
  }));
}

function citationsOf({ text, calls, reasoning }: Choice, { items = [] }: Prompt): JsonObject[] {
  const [first] = items;
  if (first === undefined || text === '' || calls.length > 0) return [];
  const document: unknown = JSON.parse(first);
  const words = text.slice(0, text.search(/\s|$/));
  const data = isObject(document) && isObject(document.data) ? document.data : { text: document as string };
  const id = isObject(document) && typeof document.id === 'string' ? document.id : 'doc:0';
  return [
    {
      start: 0,
      end: words.length,
      text: words,
      sources: [{ type: 'document', id, document: { id, ...data } }],
      content_index: reasoning === '' ? 0 : 1,
      type: 'TEXT_CONTENT',
    },
  ];
}

function idOf({ serial }: Answer): string {
  return `sim-cohere-${serial}`;
}
