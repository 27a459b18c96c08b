import type { NeutralRequest } from '../neutral/request.ts';

/**
 * The first thing that a request asks for and only OpenAI's formats can say, with why it cannot be done elsewhere;
 * null when there is none.
 */
export function openAiAlone(request: NeutralRequest): { field: string; message: string } | null {
  if ((request.n ?? 1) > 1) {
    return { field: 'n', message: 'The provider of this model gives one choice at a time.' };
  }
  if (request.logprobs === true || (request.topLogprobs ?? 0) > 0) {
    return { field: 'logprobs', message: 'The provider of this model gives no log probabilities.' };
  }
  const openai = request.extensions?.['openai-chat'];
  const modalities = openai?.modalities ?? request.hints?.modalities;
  if (Array.isArray(modalities) && modalities.includes('audio')) {
    return { field: 'modalities', message: 'The provider of this model does not answer in audio here.' };
  }
  if (openai?.web_search_options !== undefined || request.hints?.web_search_options !== undefined) {
    const message = 'Web search in the answer is not available for this model here.';
    return { field: 'web_search_options', message };
  }
  return null;
}
