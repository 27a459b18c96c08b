import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { noteService, reportedCount, reportsInvalidCount, type Usage } from '../../neutral/usage.ts';

type InputAndOutput = Required<Pick<Usage, 'inputTokens' | 'outputTokens' | 'cachedInputTokens' | 'cacheWriteTokens'>>;

const nothing: InputAndOutput = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 };

const mainCounts = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

/** Anthropic's counts of one answer, each the latest one. */
export class UsageCounts {
  /** A count came that no request can have: none is believed, neither earlier nor later ones. */
  impossible = false;
  output = 0;
  #input = 0;
  #cacheRead = 0;
  #cacheWrite = 0;
  #cacheWrite1h = 0;
  #searches = 0;
  #thinking: number | null = null;
  #service: readonly (JsonValue | undefined)[] = [];
  /** Counts of runs that the other counts leave out. */
  #beside: InputAndOutput = nothing;

  /**
   * Takes over the counts of `usage`. message_delta's counts are cumulative, and its input counts may differ from
   * message_start's: later ones replace earlier ones, absent ones leave them. True if there were any and all are valid.
   * Servers of this format that do not repeat the input say 0 there, which no request has.
   */
  take(usage: JsonValue | undefined): boolean {
    if (!isObject(usage)) return false;
    this.impossible ||= reportsInvalidCount(usage, mainCounts);
    const input = reportedCount(usage.input_tokens);
    const output = reportedCount(usage.output_tokens);
    const read = reportedCount(usage.cache_read_input_tokens);
    const written = reportedCount(usage.cache_creation_input_tokens);
    if ((input ?? 0) + (read ?? 0) + (written ?? 0) > 0) {
      this.#input = input ?? this.#input;
      this.#cacheRead = read ?? this.#cacheRead;
      this.#cacheWrite = written ?? this.#cacheWrite;
    }
    this.output = output ?? this.output;
    if (isObject(usage.cache_creation))
      this.#cacheWrite1h = reportedCount(usage.cache_creation.ephemeral_1h_input_tokens) ?? this.#cacheWrite1h;
    if (isObject(usage.server_tool_use))
      this.#searches = reportedCount(usage.server_tool_use.web_search_requests) ?? this.#searches;
    const details = usage.output_tokens_details;
    if (isObject(details)) this.#thinking = reportedCount(details.thinking_tokens) ?? this.#thinking;
    const { service_tier: tier = 'standard', speed, inference_geo: place } = usage;
    if (tier !== 'standard' || speed !== undefined || place !== undefined) this.#service = [tier, speed, place];
    if (Array.isArray(usage.iterations)) this.#beside = countsBeside(usage.iterations);
    return !this.impossible && (input !== null || output !== null);
  }

  /** Anthropic counts cached input apart from input_tokens, the neutral form inside inputTokens: added here. */
  usage(): Usage {
    const beside = this.#beside;
    const usage: Usage = {
      inputTokens: this.#input + this.#cacheRead + this.#cacheWrite + beside.inputTokens,
      outputTokens: this.output + beside.outputTokens,
      cachedInputTokens: this.#cacheRead + beside.cachedInputTokens,
      cacheWriteTokens: this.#cacheWrite + beside.cacheWriteTokens,
    };
    if (this.#cacheWrite1h > 0) usage.cacheWrite1hTokens = this.#cacheWrite1h;
    if (this.#searches > 0) usage.webSearches = this.#searches;
    if (this.#thinking !== null) usage.reasoningTokens = this.#thinking;
    if (this.#service.length > 0) noteService(usage, this.#service);
    return usage;
  }
}

/** Runs of a model within one answer that Anthropic charges for, and counts in `iterations` alone. */
const apart: ReadonlySet<JsonValue | undefined> = new Set(['compaction', 'advisor_message']);

function countsBeside(iterations: readonly JsonValue[]): InputAndOutput {
  const sum = { ...nothing };
  for (const run of iterations) {
    if (!isObject(run) || !apart.has(run.type)) continue;
    const read = reportedCount(run.cache_read_input_tokens) ?? 0;
    const written = reportedCount(run.cache_creation_input_tokens) ?? 0;
    sum.inputTokens += (reportedCount(run.input_tokens) ?? 0) + read + written;
    sum.outputTokens += reportedCount(run.output_tokens) ?? 0;
    sum.cachedInputTokens += read;
    sum.cacheWriteTokens += written;
  }
  return sum;
}
