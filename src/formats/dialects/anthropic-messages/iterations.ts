import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { reportedCount, type Usage } from '../../neutral/usage.ts';

type InputAndOutput = Required<Pick<Usage, 'inputTokens' | 'outputTokens' | 'cachedInputTokens' | 'cacheWriteTokens'>>;

export const noCounts: InputAndOutput = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0 };

/** Runs of a model within one answer that Anthropic charges for, and counts in `iterations` alone. */
const apart: ReadonlySet<JsonValue | undefined> = new Set(['compaction', 'advisor_message']);

/** Their counts, all of them together. */
export function countsBeside(iterations: readonly JsonValue[]): InputAndOutput {
  const sum = { ...noCounts };
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
