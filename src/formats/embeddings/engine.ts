import { type EmbeddingFormat, lossesOf } from './format.ts';
import { malformed } from './read-rows.ts';

/** Body for an engine of this process: texts alone. Its answer never was JSON. */
export const engineTexts: EmbeddingFormat = {
  id: 'engine',
  encode(order) {
    const { inputs } = order;
    return { body: { texts: inputs.kind === 'texts' ? [...inputs.texts] : [] }, losses: lossesOf(order) };
  },
  decode: () => malformed('answered by an upstream'),
};
