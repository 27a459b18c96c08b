import { reportedCount, type Usage, withCounts } from '../../formats/neutral/usage.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';

/** A count of tokens that may be none: below 0, no whole number, of ten digits and more, or no number at all. */
const suspect = /[tT]oken(?:s|Count)"\s*:\s*(?:-|"|[tfNI]|\d+[.eE]|\d{10})/;
/** A main count of a usage that is null or 0: the others may tell it. */
const empty =
  /"usage(?:Metadata)?"\s*:\s*\{(?:[^{}]|\{[^{}]*\})*?"(?:(?:prompt|completion|(?:in|out)put|total)_tokens|(?:prompt|candidates|total)TokenCount)"\s*:\s*(?:null|0\b)/;

/** Counts of this process, in tokens. */
export interface GatewayCounts {
  input: number;
  output: number;
  /** The provider's usage where it may lack input or output; null: it has none. Absent: it has both. */
  lacking?: Usage | null;
}

/** Counts for an answer whose provider has reported `usage`, and of whose output `output` tokens passed. */
export function countsFor(usage: Usage | null, input: number, output: number): GatewayCounts {
  if (usage === null) return { input, output, lacking: null };
  const { inputTokens, outputTokens } = withCounts(usage, input, output);
  return { input: inputTokens, output: outputTokens, lacking: usage };
}

/** A quick look at a JSON text, before it is parsed for `correctCounts`: false where nothing is to be corrected. */
export function mayHaveImpossibleCounts(json: string): boolean {
  return suspect.test(json) || empty.test(json);
}

/**
 * Puts the counts of this process into an answer, or an event of one, whose counts are impossible: clients read whole
 * numbers there and bill by them. Input, output and total are corrected together, and their parts with them. A count that
 * is null or 0 is replaced alone. Reads only the usage of each format. True if `answer` was changed.
 */
export function correctCounts(answer: unknown, counted: GatewayCounts): boolean {
  if (!isObject(answer)) return false;
  let changed = correctUsageOf(answer, counted);
  for (const name of holders) if (correctUsageOf(answer[name], counted)) changed = true;
  return changed;
}

/** Anthropic's stream begins with the message, OpenAI's Responses end with theirs, and Groq has a separate place. */
const holders = ['message', 'response', 'x_groq'] as const;

function correctUsageOf(holder: JsonValue | undefined, counted: GatewayCounts): boolean {
  if (!isObject(holder)) return false;
  let changed = false;
  for (const usage of [holder.usage, holder.usageMetadata]) {
    if (!isObject(usage)) continue;
    if (correct(usage, hasImpossibleMain(usage) ? counted : null)) changed = true;
    if (counted.lacking !== undefined && fill(usage, counted, counted.lacking)) changed = true;
  }
  return changed;
}

/** Puts counts of this process where `reported` has none, and those of `reported` where `usage` has only a total. */
function fill(usage: JsonObject, counted: GatewayCounts, reported: Usage | null): boolean {
  const lacksInput = !reported?.inputTokens || reported.totalTokens !== undefined;
  const lacksOutput = !reported?.outputTokens;
  const lacksEither = lacksInput || lacksOutput;
  const hasTotal = Boolean(usage.total_tokens ?? usage.totalTokenCount);
  let changed = false;
  for (const name in usage) {
    const isLacking = inputName.test(name) ? lacksInput : outputName.test(name) ? lacksOutput : lacksEither;
    if (!isLacking && (usage[name] || !(hasTotal || totalName.test(name)))) continue;
    // Google and xAI count thoughts apart from the answer.
    const thoughts = !isLacking && outputName.test(name) ? (reported?.reasoningTokens ?? 0) : 0;
    const count = gatewayCount(name, counted) - thoughts;
    if (count <= 0 || usage[name] === count) continue;
    usage[name] = count;
    changed = true;
  }
  return changed;
}

function hasImpossibleMain(usage: JsonObject): boolean {
  for (const name in usage) if (isImpossible(usage[name]) && isMain(name)) return true;
  return false;
}

function correct(usage: JsonObject, counted: GatewayCounts | null): boolean {
  let changed = false;
  for (const name in usage) {
    const value = usage[name];
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
