import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../kernel/json.ts';
import type { AnswerHead } from '../dialect.ts';
import { fold } from './fold-answer.ts';

test("a whole answer has thoughts and cited pages where the AI SDK's providers for Groq and Perplexity read them", () => {
  const page = { url: 'https://example.org/a', title: 'A', quote: '' };
  const folded = (clientOf: AnswerHead['clientOf']) => {
    const { add, result } = fold({ fallbackId: 'c', model: 'm', createdS: 7, includeUsage: false, clientOf });
    add({ type: 'reasoning-delta', choice: 0, text: 'Hm.' });
    for (const citation of [page, page]) add({ type: 'citation', choice: 0, citation });
    const { citations, choices } = JSON.parse(JSON.stringify(result())) as {
      citations?: string[];
      choices: { message: JsonObject }[];
    };
    const { reasoning, reasoning_content } = choices[0]!.message;
    return [citations, reasoning, reasoning_content];
  };
  assert.deepEqual(folded('ai-sdk'), [[page.url], 'Hm.', 'Hm.']);
  assert.deepEqual(folded('perplexity'), [[page.url], undefined, 'Hm.']);
  assert.deepEqual(folded('groq'), [undefined, 'Hm.', undefined]);
  assert.deepEqual(folded(undefined), [undefined, undefined, 'Hm.']);
});
