import { ranked, sharedByRerank } from '../../src/simulator/endpoints/speak-rerank.ts';
import type { Speech } from '../../src/simulator/endpoints/speech.ts';
import type { Prompt } from '../../src/simulator/prompt.ts';

const documentsPerSearch = 100;

/** Rerank as Cohere answers it: searches in `meta`, errors in `message`. */
export const cohereRerankSpeech: Speech = {
  ...sharedByRerank,
  whole: ({ serial }, prompt) =>
    JSON.stringify({
      id: `sim-rerank-${serial}`,
      results: ranked(prompt),
      meta: { api_version: { version: '2' }, billed_units: { search_units: searchUnits(prompt) } },
    }),
  errorBody: ({ message }) => JSON.stringify({ message }),
  errorFrame: ({ message }) => `data: ${JSON.stringify({ message })}\n\n`,
};

function searchUnits({ items = [] }: Prompt): number {
  return Math.ceil(items.length / documentsPerSearch);
}
