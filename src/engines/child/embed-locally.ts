import { type EngineLoad, loadOptions, type Tensor, type Transformers } from './load-transformers.ts';

export interface EmbedOrder {
  texts: readonly string[];
}

/** Vectors of texts, each of length 1. Answers with one row after another. */
export async function createEmbedder({ AutoTokenizer, AutoModel }: Transformers, load: EngineLoad) {
  const { dimensions, pooling, tokensMax } = load.embeds!;
  const tokenizer = await AutoTokenizer.from_pretrained(load.model, { local_files_only: true });
  const model = await AutoModel.from_pretrained(load.model, loadOptions(load));

  return async ({ texts }: EmbedOrder): Promise<Float32Array> => {
    const inputs = tokenizer(texts, { padding: true, truncation: true, max_length: tokensMax });
    const { last_hidden_state: states } = await model(inputs);
    if (states === undefined) throw new Error('the model gives no last_hidden_state');
    if (states.dims[2] !== dimensions)
      throw new Error(`the model makes ${states.dims[2]} dimensions, not ${dimensions}`);
    return pooled(states, inputs.attention_mask, pooling);
  };
}

function pooled({ dims, data }: Tensor, mask: Tensor, pooling: 'mean' | 'cls'): Float32Array {
  const [texts, tokens, size] = dims as [number, number, number];
  const rows = new Float32Array(texts * size);
  for (let text = 0; text < texts; text += 1) {
    const row = rows.subarray(text * size, (text + 1) * size);
    // Scaled to length 1 in the end, so that a sum says the same as a mean.
    for (let token = 0; token < (pooling === 'cls' ? 1 : tokens); token += 1) {
      if (Number(mask.data[text * tokens + token]) === 0) continue;
      const start = (text * tokens + token) * size;
      for (let at = 0; at < size; at += 1) row[at]! += data[start + at] as number;
    }
    let squares = 0;
    for (const value of row) squares += value * value;
    const length = Math.sqrt(squares);
    if (length === 0) row[0] = 1;
    else for (let at = 0; at < size; at += 1) row[at]! /= length;
  }
  return rows;
}
