import { reportedCount } from '../../formats/neutral/usage.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';

/** A count of tokens that may be none: below 0, no whole number, of ten digits and more, or no number at all. */
const suspect = /[tT]oken(?:s|Count)"\s*:\s*(?:-|"|[tfNI]|\d+[.eE]|\d{10})/;

/** Counts of this process, in tokens. */
export interface GatewayCounts {
  input: number;
  output: number;
}

/** A quick look at a JSON text, before it is parsed for `correctCounts`: false where nothing is to be corrected. */
export function mayHaveImpossibleCounts(json: string): boolean {
  return suspect.test(json);
}

/**
 * Puts the counts of this process into an answer, or an event of one, whose counts are impossible: clients read whole
 * numbers there and bill by them. Input, output and total are corrected together, and their parts with them. Reads only
 * the usage of each format. True if `answer` was changed.
 */
export function correctCounts(answer: unknown, counted: GatewayCounts): boolean {
  let changed = false;
  for (const usage of usagesIn(answer)) {
    const areOurs = Object.entries(usage).some(([name, value]) => isImpossible(value) && isMain(name));
    if (correct(usage, areOurs ? counted : null)) changed = true;
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

function correct(usage: JsonObject, counted: GatewayCounts | null): boolean {
  let changed = false;
  for (const [name, value] of Object.entries(usage)) {
    if (typeof value === 'object' && value !== null) {
      for (const inside of Array.isArray(value) ? value : [value]) {
        if (isObject(inside) && correct(inside, counted)) changed = true;
      }
    } else if ((counted === null ? isImpossible(value) : value !== null) && isTokens(name)) {
      usage[name] = counted === null ? 0 : gatewayCount(name, counted);
      changed = true;
    }
  }
  return changed;
}

function isImpossible(value: JsonValue | undefined): boolean {
  return value !== null && reportedCount(value) === null;
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

function gatewayCount(name: string, { input, output }: GatewayCounts): number {
  if (inputName.test(name)) return input;
  if (outputName.test(name)) return output;
  return totalName.test(name) ? input + output : 0;
}
