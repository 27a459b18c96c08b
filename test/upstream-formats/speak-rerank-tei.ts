import { rerankSpeech } from '../../src/simulator/endpoints/speak-rerank.ts';
import type { Speech } from '../../src/simulator/endpoints/speech.ts';

/** Rerank, also with the words of Text Embeddings Inference, whose requests name no model. */
export const teiRerankSpeech: Speech = {
  ...rerankSpeech,
  read: (body, ...others) =>
    rerankSpeech.read(body.texts === undefined ? body : { model: 'tei', ...body, documents: body.texts }, ...others),
};
