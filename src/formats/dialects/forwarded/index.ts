import { completions, fim } from './completions.ts';
import { decisions } from './decisions.ts';
import type { ForwardedEndpoint, ForwardedEndpointId } from './endpoint.ts';
import { imageEmbeddings } from './image-embeddings.ts';
import { moderations } from './moderations.ts';
import { ocr } from './ocr.ts';
import { rerank } from './rerank.ts';

/** Every endpoint whose bodies are forwarded, by its name in costs and ledger. */
export const forwardedEndpoints: Readonly<Record<ForwardedEndpointId, ForwardedEndpoint>> = {
  completions,
  decisions,
  fim,
  'image-embeddings': imageEmbeddings,
  moderations,
  ocr,
  rerank,
};
