import type { JsonObject } from '../../../kernel/json.ts';
import type { AnswerFold, AnswerHead } from '../dialect.ts';
import { createAnswerParts } from './answer-parts.ts';
import type { LogprobsResult } from './logprobs-result.ts';

/** Events as one whole answer: what a client would put together from `encodeStream`'s chunks. */
export function fold(head: AnswerHead): AnswerFold {
  const parts = new Map<number, JsonObject[]>();
  const logprobs = new Map<number, LogprobsResult>();
  const answer: JsonObject = { candidates: [] };
  const { add, identity } = createAnswerParts(head, {
    part(choice, part) {
      const list = parts.get(choice) ?? [];
      parts.set(choice, list);
      const last = list.at(-1);
      const joins =
        typeof part.text === 'string' &&
        typeof last?.text === 'string' &&
        last.thought === part.thought &&
        last.thoughtSignature === undefined;
      if (!joins) list.push(part);
      else list[list.length - 1] = { ...last, ...part, text: `${last.text}${part.text}` };
    },
    logprobs(choice, { chosenCandidates, topCandidates }) {
      const before = logprobs.get(choice);
      if (before === undefined) {
        logprobs.set(choice, { chosenCandidates: [...chosenCandidates], topCandidates: [...topCandidates] });
        return;
      }
      before.chosenCandidates.push(...chosenCandidates);
      before.topCandidates.push(...topCandidates);
    },
    end(reasons, usageMetadata) {
      answer.candidates = reasons.map(([index, finishReason]) => ({
        content: { parts: parts.get(index) ?? [{ text: '' }], role: 'model' },
        finishReason,
        index,
        ...(logprobs.has(index) && { logprobsResult: { ...logprobs.get(index)! } }),
      }));
      answer.usageMetadata = usageMetadata;
    },
  });
  return { add, result: () => ({ ...answer, ...identity }) };
}
