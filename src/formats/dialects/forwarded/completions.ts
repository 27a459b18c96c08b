import { isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, listIn, parsedData } from '../../../kernel/json.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import { estimatedTokens, type Usage } from '../../neutral/usage.ts';
import { anyJson, arrayOf, boolean, integerIn, object, string, textOr } from '../../neutral/value-checks.ts';
import type { PassingFacts, PassingReader, PassingVerdict } from '../dialect.ts';
import { brokenLine, isEndMark } from '../event-data.ts';
import { neutralUsage } from '../openai-chat/read-usage.ts';
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
    const value = forwardedRequest(raw, body, scan, {
      ...streamed,
      defaultModel: null,
      inputTokensEstimate: estimatedTokens(raw.length),
      maxOutputTokens: typeof body.max_tokens === 'number' ? body.max_tokens : null,
      start: promptStart(body.prompt),
    });
    return value;
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
  readInPassing,
};

const startCharsMax = 1_024;

function promptStart(prompt: JsonValue | undefined): string {
  const first = Array.isArray(prompt) ? prompt[0] : prompt;
  return typeof first === 'string' ? first.slice(0, startCharsMax) : '';
}

const nothing: PassingVerdict = { content: false, fault: null, usageOnly: false };
const contentOnly: PassingVerdict = { content: true, fault: null, usageOnly: false };
const usageChunk: PassingVerdict = { content: false, fault: null, usageOnly: true };

function readInPassing(): PassingReader {
  const seen = new SeenInPassing();
  let state: 'open' | 'began' | 'finished' | 'failed' = 'open';

  function fails(found: Fault): PassingVerdict {
    state = 'failed';
    return { content: false, fault: found, usageOnly: false };
  }

  return {
    seen,
    step({ data }) {
      if (state === 'failed' || data === '') return nothing;
      if (isEndMark(data)) {
        if (state === 'open') return fails(fault('malformed', 'the stream ended without an answer'));
        if (state === 'began') return fails(fault('truncated', 'the stream ended before the answer was finished'));
        seen.terminal = true;
        return nothing;
      }
      const chunk = parsedData(data);
      if (chunk === null) return fails(brokenLine);
      const error = errorInside(chunk);
      if (error !== null) return fails(error);
      seen.usage = neutralUsage(chunk.usage) ?? seen.usage;
      const choices = listIn(chunk.choices);
      if (choices.length === 0) return isObject(chunk.usage) ? usageChunk : nothing;
      state = choices.some(isFinished) ? 'finished' : state === 'open' ? 'began' : state;
      const characters = charactersOf(choices);
      seen.characters += characters;
      return characters > 0 ? contentOnly : nothing;
    },
    whole(body) {
      const wrong = faultInList(body, ['choices'], 1);
      if (wrong !== null) return wrong;
      const answer = body as JsonObject;
      seen.usage = neutralUsage(answer.usage);
      seen.characters = charactersOf(answer.choices as JsonValue[]);
      return null;
    },
  };
}

class SeenInPassing implements PassingFacts {
  usage: Usage | null = null;
  terminal = false;
  characters = 0;

  get outputTokensSeen(): number {
    return estimatedTokens(this.characters);
  }
}

function charactersOf(choices: readonly JsonValue[]): number {
  let characters = 0;
  for (const choice of choices) {
    if (isObject(choice) && typeof choice.text === 'string') characters += choice.text.length;
  }
  return characters;
}

function isFinished(choice: JsonValue): boolean {
  return isObject(choice) && typeof choice.finish_reason === 'string' && choice.finish_reason !== '';
}
