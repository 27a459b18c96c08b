import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { tellsNoCount, toldCount, type Usage } from '../../neutral/usage.ts';

type InputAndOutput = Required<Pick<Usage, 'inputTokens' | 'outputTokens' | 'cachedInputTokens' | 'cacheWriteTokens'>>;

const nothing: InputAndOutput = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 };

const mainCounts = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

/** Anthropic's own counts of one answer, each the latest one said. */
export class UsageCounts {
  /** One was told that no request can have: none is believed, whatever was told before it and after. */
  impossible = false;
  output = 0;
  #input = 0;
  #cacheRead = 0;
  #cacheWrite = 0;
  #cacheWrite1h = 0;
  #searches = 0;
  #thinking: number | null = null;
  /** Of runs that the other counts leave out. */
  #beside: InputAndOutput = nothing;

  /**
   * Takes over the counts of `usage`. message_delta's counts are cumulative, and its input counts may differ from
   * message_start's: later ones replace earlier ones, absent ones leave them. True if there were any and all are valid.
   */
  take(usage: JsonValue | undefined): boolean {
    if (!isObject(usage)) return false;
    this.impossible ||= tellsNoCount(usage, mainCounts);
    const input = toldCount(usage.input_tokens);
    const output = toldCount(usage.output_tokens);
    this.#input = input ?? this.#input;
    this.#cacheRead = toldCount(usage.cache_read_input_tokens) ?? this.#cacheRead;
    this.#cacheWrite = toldCount(usage.cache_creation_input_tokens) ?? this.#cacheWrite;
    this.output = output ?? this.output;
    if (isObject(usage.cache_creation))
      this.#cacheWrite1h = toldCount(usage.cache_creation.ephemeral_1h_input_tokens) ?? this.#cacheWrite1h;
    if (isObject(usage.server_tool_use))
      this.#searches = toldCount(usage.server_tool_use.web_search_requests) ?? this.#searches;
    const details = usage.output_tokens_details;
    if (isObject(details)) this.#thinking = toldCount(details.thinking_tokens) ?? this.#thinking;
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
    return usage;
  }
}

/** Runs of a model within one answer that Anthropic charges for, and counts in `iterations` alone. */
const apart: ReadonlySet<JsonValue | undefined> = new Set(['compaction', 'advisor_message']);

function countsBeside(iterations: readonly JsonValue[]): InputAndOutput {
  const sum = { ...nothing };
  for (const run of iterations) {
    if (!isObject(run) || !apart.has(run.type)) continue;
    const read = toldCount(run.cache_read_input_tokens) ?? 0;
    const written = toldCount(run.cache_creation_input_tokens) ?? 0;
    sum.inputTokens += (toldCount(run.input_tokens) ?? 0) + read + written;
    sum.outputTokens += toldCount(run.output_tokens) ?? 0;
    sum.cachedInputTokens += read;
    sum.cacheWriteTokens += written;
  }
  return sum;
}
