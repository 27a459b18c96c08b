import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';

/** Usage of one attempt or request. All counts are non-negative integers; absent means unknown. */
export interface Usage {
  /** All input tokens, cached and cache-writing ones included. */
  inputTokens: number;
  outputTokens: number;
  /** Sum of both, where a provider gives nothing else: then `inputTokens` holds all of it until output is counted. */
  totalTokens?: number;
  /** Part of `inputTokens` read from the provider's cache. */
  cachedInputTokens?: number;
  /** Part of `inputTokens` written to the provider's cache. */
  cacheWriteTokens?: number;
  /** Part of `cacheWriteTokens` that is kept longest: for an hour, or for 12 at OpenAI. */
  cacheWrite1hTokens?: number;
  /** Parts of `inputTokens` that are sound or pictures, and of these what was read from the provider's cache. */
  audioInputTokens?: number;
  cachedAudioInputTokens?: number;
  imageInputTokens?: number;
  cachedImageInputTokens?: number;
  /** Part of `outputTokens`. */
  reasoningTokens?: number;
  /** Parts of `outputTokens` that are sound or pictures. */
  audioOutputTokens?: number;
  imageOutputTokens?: number;
  /** Kinds beyond tokens: speech input, audio, pictures, videos. */
  characters?: number;
  audioMs?: number;
  images?: number;
  videoSeconds?: number;
  /** Searches of the web that the provider made and charges for. */
  webSearches?: number;
  /** Pages of the web that were fetched for the answer. */
  webFetches?: number;
  /** Searches billed: Cohere's reranking counts one for a query and 100 documents, and no tokens. */
  searchUnits?: number;
  /** Nano-USD that the provider says it charges, all in all. */
  reportedUsdNano?: number;
  /** Words of the provider for service that it charges otherwise, such as `flex`, `priority` or `fast`. */
  servedAs?: readonly string[];
}

/** Member of a usage with the cost that its `UsageOf` found in it: no provider's JSON can name it. */
export const reportedCost = Symbol('reported cost');
export type WithCost = { [reportedCost]?: Pick<Usage, 'reportedUsdNano'> };

/** Words that providers have for service at the usual price. */
const usualService =
  /^(?:default|auto|standard(?:_only)?|global|not_available|batch|on_demand|provisioned_throughput|)$/;

/** Notes how the provider says that it served the request. */
export function noteService(usage: Usage, words: readonly (JsonValue | undefined)[]): void {
  const unusual = words.flatMap((word) => {
    const plain = typeof word === 'string' && word.length <= 64 ? word.toLowerCase() : '';
    return usualService.test(plain) ? [] : [plain];
  });
  if (unusual.length > 0) usage.servedAs = unusual;
}

/** Sums several calls: every count that one of them gave. */
export function sumOf(before: Usage | null, added: Usage): Usage {
  if (before === null) return added;
  const { servedAs = before.servedAs, ...counts } = added;
  const sum: Usage = { ...before, ...(servedAs !== undefined && { servedAs }) };
  for (const [name, count] of Object.entries(counts) as [keyof typeof counts, number][])
    sum[name] = (sum[name] ?? 0) + count;
  return sum;
}

/** Origin of the counts: the upstream; our count of what passed; a reservation's estimate; an abandoned attempt. */
export type UsageSource = 'upstream' | 'counted' | 'estimated' | 'abandoned' | 'none';

/** No request uses so much of anything: who tells more has counted wrong, and the books could not hold all of it. */
const reportedCountMax = 1_000_000_000;

/** Tokens or searches from an upstream; null for anything but a count, so that others may count. */
export function reportedCount(value: JsonValue | undefined): number | null {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= reportedCountMax
    ? (value as number)
    : null;
}

/** Adds a count from an upstream, if it is above 0. */
export function addCount(usage: Usage, name: Exclude<keyof Usage, 'servedAs'>, value: JsonValue | undefined): void {
  const count = reportedCount(value) ?? 0;
  if (count > 0) usage[name] = (usage[name] ?? 0) + count;
}

/** Adds tokens of the model that writes an SVG, which OpenAI charges in addition to those of its picture. */
export function addWritten(usage: Usage, written: JsonObject): void {
  addCount(usage, 'inputTokens', written.input_tokens);
  addCount(usage, 'outputTokens', written.output_tokens);
}

/** Input and output of a provider that gives one of them, or their sum alone. An input of 0 is none. */
export function partsOfTotal(input: number | null, output: number | null, total: number | null): Usage {
  if (!input && !output && total) return { inputTokens: total, outputTokens: 0, totalTokens: total };
  const inputTokens = input || Math.max(0, (total ?? 0) - (output ?? 0));
  return { inputTokens, outputTokens: output ?? Math.max(0, (total ?? 0) - inputTokens) };
}

/**
 * The usage with counts of this process where a provider gave none or 0: no request has an input of no tokens, and an
 * output of which some passed has as many. Searches are all that some rerankers report.
 */
export function withCounts(usage: Usage, inputTokensEstimate: number, outputTokensSeen: number): Usage {
  if (usage.totalTokens !== undefined) {
    const { totalTokens: total, ...parts } = usage;
    const outputTokens = Math.min(outputTokensSeen, total);
    return { ...parts, inputTokens: total - outputTokens, outputTokens };
  }
  const outputTokens = usage.outputTokens || outputTokensSeen;
  const lacksInput = usage.inputTokens === 0 && (outputTokens > 0 || usage.searchUnits !== undefined);
  if (!lacksInput && outputTokens === usage.outputTokens) return usage;
  return { ...usage, outputTokens, ...(lacksInput && { inputTokens: inputTokensEstimate }) };
}

/** Whether one of these members is present but not a count: then the others are not believed either. */
export function reportsInvalidCount(usage: JsonObject, names: readonly string[]): boolean {
  for (const name of names) if (usage[name] != null && reportedCount(usage[name]) === null) return true;
  return false;
}

/** English prose and code in the common vocabularies; see `estimatedTokens` for the error. */
const bytesPerToken = 4;

/**
 * Rough tokens of text that nobody counted for us: UTF-8 bytes / 4, rounded up. Answers are measured in UTF-16 units
 * instead, which cost nothing and are as many in Latin script. It replaces an upstream's own figure only when that is
 * missing, and then `usage_source` says so. Error to expect: English prose and code within about a quarter either way;
 * digits, base64 and rare words up to half too low; Cyrillic or Greek (2 bytes a letter) up to half too high; Chinese
 * or Japanese (3 bytes) within a third, and in answers two thirds too low. A real tokenizer costs 80 MB and is a later,
 * lazy choice.
 */
export function estimatedTokens(length: number): number {
  return Math.ceil(length / bytesPerToken);
}

/** Shorter bodies are not looked into: what they hold is few tokens, whatever it is. */
const parsedBytesMin = 4_096;
/** Words of prose end sooner. */
const base64CharsMin = 1_024;
/** Tokens of a picture, a page of a document or a thought that is handed back: 1,092 × 1,092 pixels at Anthropic. */
const base64TokensMax = 1_590;

/**
 * Rough tokens of a request: its text as above, and each long run of base64 (pictures, sound, files, signatures,
 * encrypted thoughts) as at most `base64TokensMax`, wherever it is. `bodyBytes` is the length of its JSON.
 */
export function estimatedInput(body: JsonValue, bodyBytes: number): number {
  if (bodyBytes < parsedBytesMin) return estimatedTokens(bodyBytes);
  const found = { bytes: 0, tokens: 0 };
  findBase64(body, found);
  return estimatedTokens(Math.max(0, bodyBytes - found.bytes)) + found.tokens;
}

function findBase64(value: JsonValue | undefined, found: { bytes: number; tokens: number }): void {
  if (typeof value === 'string') {
    if (value.length < base64CharsMin || !isBase64(value)) return;
    found.bytes += value.length;
    found.tokens += Math.min(base64TokensMax, estimatedTokens(value.length));
  } else if (Array.isArray(value)) for (const one of value) findBase64(one, found);
  else if (isObject(value)) for (const name in value) findBase64(value[name], found);
}

/** By its beginning, behind that of a data: URL, and its end: the rest is megabytes. */
function isBase64(text: string): boolean {
  const from = text.startsWith('data:') ? text.slice(0, 256).indexOf(',') + 1 : 0;
  return /^[\w+/=-]*$/.test(text.slice(from, from + 512) + text.slice(-256));
}
