import { ranked, rerankSpeech } from '../../src/simulator/endpoints/speak-rerank.ts';
import type { Speech } from '../../src/simulator/endpoints/speech.ts';

/** Rerank in Mixedbread's words: `input`, `top_k` and `data` with a `score`. */
export const mixedbreadRerankSpeech: Speech = {
  ...rerankSpeech,
  read: ({ input = null, top_k: top = null, ...body }, ...others) =>
    rerankSpeech.read({ ...body, documents: input, top_n: top }, ...others),
  whole: ({ model, inputTokens }, prompt) =>
    JSON.stringify({
      object: 'list',
      model,
      usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
      data: ranked(prompt).map(({ index, relevance_score: score }) => ({ object: 'rank_result', index, score })),
    }),
};
