import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { wholeOnly } from '../embed-prompt.ts';
import { inputTokensOf, type Prompt, type ReadPrompt } from '../prompt.ts';
import { plainPrompt } from './speak-completions.ts';
import type { Speech } from './speech.ts';

const read: ReadPrompt = (body) => {
  const { model, query, documents, top_n: top } = body;
  if (typeof model !== 'string' || model === '') return { refused: 'model is required', param: 'model' };
  if (typeof query !== 'string' || query === '') return { refused: 'query is required', param: 'query' };
  if (!Array.isArray(documents) || documents.length === 0) {
    return { refused: 'documents must hold at least one document', param: 'documents' };
  }
  const items = documents.map(textOfDocument);
  const inputTokens = items.reduce((sum, text) => sum + inputTokensOf(text) + inputTokensOf(query), 0);
  return {
    ...plainPrompt(model, query),
    inputTokens,
    items,
    top: typeof top === 'number' && top > 0 ? top : items.length,
    itemsShown: body.return_documents === true,
  };
};

/** Rerank in any form: the inputs are alike. */
export const sharedByRerank = { read, ...wholeOnly } as const satisfies Partial<Speech>;

/** Rerank as Jina's servers and vLLM answer it: tokens in `usage`, errors in `detail`. */
export const rerankSpeech: Speech = {
  ...sharedByRerank,
  whole: ({ model, inputTokens }, prompt, spec) =>
    JSON.stringify({
      model,
      object: 'list',
      ...((spec.omit ?? []).includes('usage') ? {} : { usage: { total_tokens: inputTokens } }),
      results: ranked(prompt),
    }),
  errorBody: ({ message }) => JSON.stringify({ detail: message }),
  errorFrame: ({ message }) => `data: ${JSON.stringify({ detail: message })}\n\n`,
};

/** By how many of the query's words are in a document: an order that can be checked by hand. */
export function ranked({ lastUserText, items = [], top = items.length, itemsShown }: Prompt): JsonObject[] {
  const queryWords = wordSet(lastUserText);
  return items
    .map((text, index) => ({ text, index, score: shareOf(queryWords, wordSet(text)) }))
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, top)
    .map(({ text, index, score }) => ({
      index,
      relevance_score: score,
      ...(itemsShown === true && { document: { text } }),
    }));
}

function shareOf(queryWords: ReadonlySet<string>, there: ReadonlySet<string>): number {
  if (queryWords.size === 0) return 0;
  let found = 0;
  for (const word of queryWords) if (there.has(word)) found += 1;
  return Math.round((found / queryWords.size) * 1e4) / 1e4;
}

function wordSet(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}

function textOfDocument(document: JsonValue): string {
  if (typeof document === 'string') return document;
  return isObject(document) && typeof document.text === 'string' ? document.text : JSON.stringify(document);
}
