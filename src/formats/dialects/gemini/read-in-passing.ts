import { isObject, type JsonObject, listIn, parsedData, stringOr } from '../../../kernel/json.ts';
import { type Fault, fault } from '../../neutral/outcome.ts';
import { estimatedTokens, type Usage } from '../../neutral/usage.ts';
import type { PassingReader } from '../dialect.ts';
import { brokenLine, contentAndUsage, contentOnly, isEndMark, nothing } from '../event-data.ts';
import { hasInvalidCount, usageOf } from './decode-answer.ts';
import { faultOfError, readError } from './errors.ts';

/** Reads usage, errors and the end out of an answer that is forwarded as bytes; a chunk is many tokens here. */
export function readInPassing(): PassingReader {
  const seen = {
    usage: null as Usage | null,
    terminal: false,
    outputTokensSeen: 0,
    answeredAs: null as string | null,
    finishReason: null as string | null,
  };
  let textChars = 0;

  function look(data: JsonObject): boolean {
    seen.usage = usageOf(data.usageMetadata) ?? (hasInvalidCount(data.usageMetadata) ? null : seen.usage);
    if (isObject(data.promptFeedback) && typeof data.promptFeedback.blockReason === 'string') seen.terminal = true;
    seen.answeredAs ??= stringOr(data.modelVersion, null);
    let hasContent = false;
    for (const candidate of listIn(data.candidates)) {
      if (!isObject(candidate)) continue;
      if (typeof candidate.finishReason === 'string') {
        seen.terminal = true;
        seen.finishReason = candidate.finishReason;
      }
      const parts = isObject(candidate.content) ? candidate.content.parts : undefined;
      for (const part of listIn(parts)) {
        if (!isObject(part)) continue;
        if (typeof part.text === 'string') textChars += part.text.length;
        if (isObject(part.functionCall)) textChars += JSON.stringify(part.functionCall).length;
        hasContent ||= typeof part.text === 'string' ? part.text !== '' : Object.keys(part).length > 0;
      }
    }
    seen.outputTokensSeen = estimatedTokens(textChars);
    return hasContent;
  }

  return {
    seen,
    step(event) {
      if (event.data === '' || isEndMark(event.data)) return nothing;
      const data = parsedData(event.data);
      if (data === null) return { ...nothing, fault: brokenLine };
      const error = readError(data);
      if (error !== null) return { ...nothing, fault: faultOfError(data, error) };
      if (!look(data)) return nothing;
      return isObject(data.usageMetadata) ? contentAndUsage : contentOnly;
    },
    whole(body): Fault | null {
      if (!isObject(body)) return fault('malformed', 'the answer is not a JSON object');
      const error = readError(body);
      if (error !== null) return faultOfError(body, error);
      look(body);
      return seen.terminal ? null : fault('malformed', 'the answer has no candidates');
    },
  };
}
