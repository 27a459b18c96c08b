import type { JsonObject } from '../../../kernel/json.ts';
import type { AnswerHead, StreamEncoder } from '../dialect.ts';
import { createAnswerParts } from './answer-parts.ts';

/**
 * Events as Google's chunks. Reasons and usage come in the last one, after `end`: without it a cut answer has no
 * `finishReason`, and after `failed` the caller of this writes the error frame.
 */
export function encodeStream(head: AnswerHead): StreamEncoder {
  let out = '';
  const { add, identity } = createAnswerParts(head, {
    part(choice, part) {
      out += chunk({ candidates: [{ content: { parts: [part], role: 'model' }, index: choice }] });
    },
    logprobs(choice, logprobsResult) {
      const content = { parts: [{ text: '' }], role: 'model' };
      out += chunk({ candidates: [{ content, index: choice, logprobsResult: { ...logprobsResult } }] });
    },
    end(reasons, usageMetadata) {
      const candidates = reasons.map(([index, finishReason]) => ({
        content: { parts: [{ text: '' }], role: 'model' },
        finishReason,
        index,
      }));
      out += chunk({ candidates, usageMetadata });
    },
  });

  function chunk(data: JsonObject): string {
    return `data: ${JSON.stringify({ ...data, ...identity })}\r\n\r\n`;
  }

  return {
    step(event) {
      out = '';
      add(event);
      return out;
    },
  };
}
