import { isObject, type JsonObject } from '../../kernel/json.ts';
import { beforeDelta, textParts } from '../answer-pace.ts';
import type { Step } from '../answer-steps.ts';
import type { Answer, Choice } from '../compose-answer.ts';
import type { FaultSpec } from '../faults/fault-spec.ts';
import { inputTokensOf, type Prompt, type ReadPrompt, stringsOf } from '../prompt.ts';
import { asOpenAi, chatSpeech } from './speak-chat.ts';
import type { Speech } from './speech.ts';

const finishReasons = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'tool-calls': 'stop',
} as const satisfies Record<Choice['finish'], string>;

const brokenFrame = 'data: {"id":"cmpl-broken","object":"text_completion","choices":[{"index":0,"te\n\n';
/** Rules of the reference for `max_tokens` and `n`. */
const maxTokensDefault = 16;
const choicesMax = 128;

const read: ReadPrompt = (body) => {
  const { model, n, prompt, max_tokens: maxTokens } = body;
  if (typeof model !== 'string' || model === '') {
    return { refused: 'you must provide a model parameter', param: 'model' };
  }
  const choices = typeof n === 'number' ? n : 1;
  if (!Number.isInteger(choices) || choices < 1 || choices > choicesMax) {
    return { refused: `Invalid 'n': expected an integer from 1 to ${choicesMax}.`, param: 'n' };
  }
  return {
    // A list of numbers is tokens, which nobody here can read.
    ...plainPrompt(model, stringsOf(prompt).join('\n')),
    delivery: body.stream === true ? 'stream' : 'whole',
    usageChunk: isObject(body.stream_options) && body.stream_options.include_usage === true ? 'asked' : 'not-asked',
    choices,
    stop: stringsOf(body.stop),
    maxTokens: typeof maxTokens === 'number' ? maxTokens : maxTokensDefault,
  };
};

/** Text completions, after the reference of api.openai.com; errors are chat completions'. */
export const completionsSpeech: Speech = {
  ...asOpenAi,
  read,
  finalParts: ['finish', 'usage', 'done'],
  whole: (answer, prompt, spec) =>
    JSON.stringify({
      ...headOf(answer),
      choices: answer.choices.map((choice, index) => choiceOf(choice, index, choice.text, spec)),
      ...((spec.omit ?? []).includes('usage') ? {} : { usage: usageOf(answer, prompt) }),
    }),
  frames: completionFrames,
};

/** Mistral's fill in the middle: it reads completions, and answers in the form of chats. */
export const fimSpeech: Speech = { ...chatSpeech, read };

/** A prompt without anything that only conversations have; a whole answer. */
export function plainPrompt(model: string, text: string): Prompt {
  return {
    model,
    delivery: 'whole',
    usageChunk: 'not-asked',
    inputTokens: inputTokensOf(text),
    lastUserText: text,
    turn: 'user',
    tools: [],
    toolChoice: 'none',
    toolCalls: 'single',
    format: 'text',
    choices: 1,
    stop: [],
    maxTokens: null,
    reasoning: 'none',
    topLogprobs: null,
  };
}

function* completionFrames(answer: Answer, prompt: Prompt, spec: FaultSpec): Generator<Step> {
  const omit = spec.omit ?? [];
  // Real upstreams send `usage: null` in every chunk but the last once usage was asked.
  const beside = prompt.usageChunk === 'asked' ? { usage: null } : {};
  const frame = (choice: JsonObject) =>
    `data: ${JSON.stringify({ ...headOf(answer), choices: [choice], ...beside })}\n\n`;
  let sent = 0;
  for (const [index, choice] of answer.choices.entries()) {
    for (const tokens of textParts(choice.text, spec)) {
      yield* beforeDelta(spec, sent);
      yield frame({ index, text: tokens.join(''), logprobs: null, finish_reason: null });
      sent += 1;
      if (sent === 1) for (let broken = 0; broken < (spec.malformed ?? 0); broken += 1) yield brokenFrame;
    }
    if (!omit.includes('finish')) yield frame(choiceOf(choice, index, '', spec));
  }
  if (prompt.usageChunk === 'asked' && !omit.includes('usage')) {
    yield `data: ${JSON.stringify({ ...headOf(answer), choices: [], usage: usageOf(answer, prompt) })}\n\n`;
  }
  if (!omit.includes('done')) yield 'data: [DONE]\n\n';
}

function headOf({ serial, createdS, model }: Answer): JsonObject {
  return { id: `cmpl-sim${serial}`, object: 'text_completion', created: createdS, model };
}

function choiceOf(choice: Choice, index: number, text: string, spec: FaultSpec): JsonObject {
  return { index, text, logprobs: null, finish_reason: spec.finish ?? finishReasons[choice.finish] };
}

function usageOf({ outputTokens }: Answer, { inputTokens }: Prompt): JsonObject {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}
