import { isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, listIn, parsedData } from '../../../kernel/json.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import { estimatedTokens, type Usage } from '../../neutral/usage.ts';
import { anyJson, arrayOf, boolean, integerIn, object, string, textOr } from '../../neutral/value-checks.ts';
import type { DecodeOptions, PassingFacts, PassingReader, PassingVerdict } from '../dialect.ts';
import { brokenLine, contentAndUsage, contentOnly, isEndMark, nothing, usageChunk } from '../event-data.ts';
import { lackingUsage, neutralUsage, usageFrame } from '../openai-chat/read-usage.ts';
import type { ForwardedEndpoint } from './endpoint.ts';
import { forwardedRequest, invalidFieldIn, schemaBesideModel, streamOf } from './read-fields.ts';
import { errorInside, faultInList } from './read-whole.ts';

/** OpenAI's older text completions: a prompt is continued. Base models and code infilling still live on it. */
export const completions: ForwardedEndpoint = {
  id: 'completions',
  cost: 'chat',
  path: '/v1/completions',
  summary: "Continue a text in OpenAI's older format",
  readRequest(raw, body, scan) {
    const wrong = invalidFieldIn(body, null);
    if (wrong !== null) return wrong;
    const streamed = streamOf(body);
    if (isFailure(streamed)) return streamed;
    return forwardedRequest(raw, body, scan, {
      ...streamed,
      defaultModel: null,
      inputTokensEstimate: tokensIn(body.prompt) ?? estimatedTokens(raw.length),
      maxOutputTokens: typeof body.max_tokens === 'number' ? body.max_tokens : null,
      start: promptStart(body.prompt),
    });
  },
  requestSchema: () =>
    schemaBesideModel(
      {
        prompt: textOr(arrayOf(anyJson, 0, Number.POSITIVE_INFINITY, 'texts or tokens')),
        suffix: string,
        max_tokens: integerIn(0, Number.MAX_SAFE_INTEGER),
        stream: boolean,
        stream_options: object,
      },
      {},
    ),
  readInPassing: (options) => readInPassing('text', options),
};

/**
 * Mistral's completions for what is between `prompt` and `suffix` (https://docs.mistral.ai/api/endpoint/fim), answered in
 * the form of chats. Other services do the same by OpenAI's older format.
 */
export const fim: ForwardedEndpoint = {
  ...completions,
  id: 'fim',
  path: '/v1/fim/completions',
  summary: "Fill in the middle of a text in Mistral's format",
  readRequest(raw, body, scan) {
    const read = completions.readRequest(raw, body, scan);
    if (isFailure(read)) return read;
    // Mistral alone has another word for `seed`.
    const forward: typeof read.forward = (target) =>
      read.forward('seed' in target.rename ? target : { ...target, rename: { random_seed: 'seed', ...target.rename } });
    return { ...read, forward };
  },
  readInPassing: (options) => readInPassing('chat', options),
};

const startCharsMax = 1_024;

/** Tokens of prompts that are ids of tokens; null: it has texts. */
function tokensIn(prompt: JsonValue | undefined): number | null {
  const ids = listIn(prompt).flat();
  return ids.length > 0 && ids.every((id) => typeof id === 'number') ? ids.length : null;
}

function promptStart(prompt: JsonValue | undefined): string {
  const first = Array.isArray(prompt) ? prompt[0] : prompt;
  return typeof first === 'string' ? first.slice(0, startCharsMax) : '';
}

/** Forms of a choice: `text`, or a `message` and its pieces. */
type Form = 'text' | 'chat';

/** Answers in either form, for callers who read one of them. `shownInputTokens`: estimate for callers who want usage. */
function readInPassing(form: Form, { shownInputTokens, usageOf }: DecodeOptions = {}): PassingReader {
  const seen = new SeenInPassing();
  let reason: JsonValue = null;
  let last: JsonObject = {};
  let state: 'open' | 'began' | 'finished' | 'failed' = 'open';

  function fails(found: Fault): PassingVerdict {
    state = 'failed';
    return { ...nothing, fault: found };
  }

  return {
    seen,
    step({ data }) {
      if (state === 'failed' || data === '') return nothing;
      if (isEndMark(data)) {
        if (state === 'open') return fails(fault('malformed', 'the stream ended without an answer'));
        if (state === 'began') return fails(fault('truncated', 'the stream ended before the answer was finished'));
        seen.terminal = true;
        if (seen.usage !== null || shownInputTokens === undefined) return nothing;
        const choices = form === 'text' ? [] : [{ index: 0, delta: { content: '' }, finish_reason: reason }];
        const before = usageFrame({ ...last, choices }, shownInputTokens, seen.outputTokensSeen);
        return { ...nothing, before, data: '[DONE]' };
      }
      const chunk = parsedData(data);
      if (chunk === null) return fails(brokenLine);
      const error = errorInside(chunk);
      if (error !== null) return fails(error);
      seen.usage = neutralUsage(usageOf?.(chunk) ?? chunk.usage) ?? seen.usage;
      last = chunk;
      const choices = listIn(chunk.choices);
      if (choices.length === 0) {
        if (form === 'text') return isObject(chunk.usage) ? usageChunk : nothing;
        // Mistral's callers expect a choice in each chunk, and usage without a wish for it.
        chunk.choices = [{ index: 0, text: '', finish_reason: reason }];
        return { ...nothing, data: JSON.stringify(inForm(chunk, form, 'chunk') ?? chunk) };
      }
      reason = choices.find(isFinished)?.finish_reason ?? reason;
      state = reason !== null ? 'finished' : state === 'open' ? 'began' : state;
      const characters = charactersOf(choices);
      seen.characters += characters;
      const verdict = characters === 0 ? nothing : isObject(chunk.usage) ? contentAndUsage : contentOnly;
      const converted = inForm(chunk, form, 'chunk');
      return converted === null ? verdict : { ...verdict, data: JSON.stringify(converted) };
    },
    whole(body) {
      const wrong = faultInList(body, ['choices'], 1);
      if (wrong !== null) return wrong;
      const answer = body as JsonObject;
      seen.usage = neutralUsage(usageOf?.(answer) ?? answer.usage);
      if (seen.usage === null) answer.usage = lackingUsage(answer.usage);
      seen.characters = charactersOf(answer.choices as JsonValue[]);
      seen.mended = inForm(answer, form, 'whole') !== null;
      return null;
    },
  };
}

class SeenInPassing implements PassingFacts {
  usage: Usage | null = null;
  terminal = false;
  mended = false;
  characters = 0;

  get outputTokensSeen(): number {
    return estimatedTokens(this.characters);
  }
}

function charactersOf(choices: readonly JsonValue[]): number {
  return choices.reduce<number>((sum, choice) => sum + (textOf(choice)?.text.length ?? 0), 0);
}

/** Text of a choice, and the form in which it has it; null for what is no choice. */
function textOf(choice: JsonValue): { text: string; form: Form } | null {
  if (!isObject(choice)) return null;
  if (typeof choice.text === 'string') return { text: choice.text, form: 'text' };
  const message = choice.message ?? choice.delta;
  if (!isObject(message)) return null;
  return { text: typeof message.content === 'string' ? message.content : '', form: 'chat' };
}

/** The answer, or a chunk of it, with its choices in that form; null: they were. */
function inForm(answer: JsonObject, form: Form, part: 'chunk' | 'whole'): JsonObject | null {
  const choices = listIn(answer.choices);
  const converted = choices.map((choice, at) => {
    const found = textOf(choice);
    if (found === null || found.form === form) return choice;
    const { index = at, finish_reason = null } = choice as JsonObject;
    if (form === 'text') return { index, text: found.text, logprobs: null, finish_reason };
    const message = { role: 'assistant', content: found.text };
    return { index, ...(part === 'chunk' ? { delta: message } : { message }), finish_reason };
  });
  if (converted.every((choice, at) => choice === choices[at])) return null;
  const names = part === 'chunk' ? 'chat.completion.chunk' : 'chat.completion';
  return Object.assign(answer, { object: form === 'text' ? 'text_completion' : names, choices: converted });
}

function isFinished(choice: JsonValue): choice is JsonObject {
  return isObject(choice) && typeof choice.finish_reason === 'string' && choice.finish_reason !== '';
}
