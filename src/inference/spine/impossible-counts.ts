import { reportedCount } from '../../formats/neutral/usage.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';

/** A count of tokens that may be none: below 0, no whole number, of ten digits and more, or no number at all. */
const suspect = /[tT]oken(?:s|Count)"\s*:\s*(?:-|"|[tfNI]|\d+[.eE]|\d{10})/;

/** Counts of this process, in tokens. */
export interface OwnCounts {
  input: number;
  output: number;
}

/** A quick look at a JSON text, before it is parsed for `correctCounts`: false where nothing is to be corrected. */
export function mayTellImpossibleCounts(json: string): boolean {
  return suspect.test(json);
}

/**
 * Puts the counts of this process into an answer, or an event of one, whose counts are impossible: clients read whole
 * numbers there and bill by them. Input, output and total are corrected together, and their parts with them. Reads only
 * the usage of each format. True if `answer` was changed.
 */
export function correctCounts(answer: unknown, own: OwnCounts): boolean {
  let changed = false;
  for (const usage of usagesIn(answer)) {
    if (!hasOddValue(usage)) continue;
    const areOurs = Object.entries(usage).some(([name, told]) => isImpossible(told) && isMain(name));
    if (correct(usage, areOurs ? own : null)) changed = true;
  }
  return changed;
}

function usagesIn(answer: unknown): JsonObject[] {
  const found: JsonObject[] = [];
  if (!isObject(answer)) return found;
  takeUsage(answer, found);
  // Anthropic's stream begins with the message, OpenAI's Responses end with theirs, and Groq has a separate place.
  takeUsage(answer.message, found);
  takeUsage(answer.response, found);
  takeUsage(answer.x_groq, found);
  return found;
}

function takeUsage(holder: JsonValue | undefined, found: JsonObject[]): void {
  if (!isObject(holder)) return;
  if (isObject(holder.usage)) found.push(holder.usage);
  if (isObject(holder.usageMetadata)) found.push(holder.usageMetadata);
}

/**
 * True if something in it is neither a count nor null: nearly every usage holds nothing else, and needs no second look.
 */
function hasOddValue(usage: JsonObject): boolean {
  for (const name in usage) {
    const told = usage[name];
    if (typeof told === 'object' && told !== null) {
      if (Array.isArray(told) || hasOddValue(told)) return true;
    } else if (isImpossible(told)) return true;
  }
  return false;
}

function correct(usage: JsonObject, own: OwnCounts | null): boolean {
  let changed = false;
  for (const [name, told] of Object.entries(usage)) {
    if (typeof told === 'object' && told !== null) {
      for (const inside of Array.isArray(told) ? told : [told]) {
        if (isObject(inside) && correct(inside, own)) changed = true;
      }
    } else if ((own === null ? isImpossible(told) : told !== null) && isTokens(name)) {
      usage[name] = own === null ? 0 : ownCount(name, own);
      changed = true;
    }
  }
  return changed;
}

function isImpossible(told: JsonValue | undefined): boolean {
  return told !== null && reportedCount(told) === null;
}

const inputName = /^(?:prompt_tokens|input_tokens|promptTokenCount)$/;
const outputName = /^(?:completion_tokens|output_tokens|candidatesTokenCount)$/;
const totalName = /^total(?:_tokens|TokenCount)$/;

function isMain(name: string): boolean {
  return inputName.test(name) || outputName.test(name) || totalName.test(name);
}

function isTokens(name: string): boolean {
  return /tokens$|TokenCount$|^tokenCount$/.test(name);
}

function ownCount(name: string, { input, output }: OwnCounts): number {
  if (inputName.test(name)) return input;
  if (outputName.test(name)) return output;
  return totalName.test(name) ? input + output : 0;
}
