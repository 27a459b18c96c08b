import type { JsonValue } from '../kernel/json.ts';
import { dimensionsMax } from './embed-vectors.ts';
import { plainPrompt } from './endpoints/speak-completions.ts';
import type { Speech } from './endpoints/speech.ts';
import { inputTokensOf, type Prompt, type Refusal } from './prompt.ts';

export interface EmbeddingOptions {
  model: string;
  /** A text, tokens, or a list of either. */
  input: JsonValue | undefined;
  /** The request's name for `input`. */
  inputParam: string;
  dimensions: JsonValue | undefined;
  encoding: 'float' | 'base64';
}

/** Checks the fields that every dialect of embeddings has. */
export function embeddingPrompt(options: EmbeddingOptions): Prompt | Refusal {
  const { model, input, inputParam, dimensions = null, encoding } = options;
  const inputs = inputsOf(input);
  if (inputs === null || inputs.length === 0)
    return { refused: `'${inputParam}' must not be empty.`, param: inputParam };
  const items: string[] = [];
  let inputTokens = 0;
  for (const [at, one] of inputs.entries()) {
    if (typeof one === 'string') {
      items.push(one);
      inputTokens += inputTokensOf(one);
    } else if (isTokens(one)) {
      // Nobody here can read tokens, but equal ones are equal.
      items.push(`tokens ${one.join(' ')}`);
      inputTokens += one.length;
    } else return { refused: `'${inputParam}[${at}]' is neither text nor tokens.`, param: inputParam };
  }
  if (dimensions !== null && !(isCount(dimensions) && dimensions <= dimensionsMax)) {
    return { refused: `'dimensions' must be an integer from 1 to ${dimensionsMax}.`, param: 'dimensions' };
  }
  return { ...plainPrompt(model, ''), inputTokens, items, ...(dimensions !== null && { dimensions }), encoding };
}

/** Embeddings come in one piece, whatever the dialect. */
export const wholeOnly = {
  frames: function* () {},
  introFrames: () => 0,
  finalParts: [],
  requestIdHeader: 'x-request-id',
} as const satisfies Partial<Speech>;

/** Tokens are one input, a list of anything else as many as it holds. */
function inputsOf(input: JsonValue | undefined): readonly JsonValue[] | null {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input)) return null;
  return isTokens(input) ? [input] : input;
}

function isTokens(value: JsonValue): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((token) => Number.isInteger(token));
}

function isCount(value: JsonValue): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1;
}
