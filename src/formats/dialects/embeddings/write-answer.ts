import { randomUUID } from 'node:crypto';
import type { AnswerForm, VectorEncoding, VectorType } from '../../neutral/embedding.ts';
import { smallVector } from './vector-types.ts';

type Rows = Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>;

/** One request's vectors, as its answer tells them. */
export interface EmbeddingAnswer {
  /** The alias. */
  model: string;
  encoding: VectorEncoding;
  /** Types in Cohere's answer; absent: `encoding` alone. */
  types?: readonly VectorType[];
  /** Row after row. */
  rows: Rows;
  size: number;
  inputTokens: number;
}

/** A caller's answer, as JSON. */
export function writeEmbeddings(answer: EmbeddingAnswer, form: AnswerForm): Buffer<ArrayBuffer> {
  return Buffer.from(writers[form](answer));
}

const writers: Readonly<Record<AnswerForm, (answer: EmbeddingAnswer) => string>> = {
  openai({ model, encoding, rows, size, inputTokens }) {
    const data = rowsOf(rows, size).map(
      (row, index) => `{"object":"embedding","index":${index},"embedding":${encoded(row, encoding)}}`,
    );
    const usage = `{"prompt_tokens":${inputTokens},"total_tokens":${inputTokens}}`;
    return `{"object":"list","data":[${data.join(',')}],"model":${JSON.stringify(model)},"usage":${usage}}`;
  },
  'gemini-one': ({ rows, inputTokens }) =>
    `{"embedding":{"values":[${rows.join(',')}]},"usageMetadata":{"promptTokenCount":${inputTokens}}}`,
  'gemini-batch'({ rows, size, inputTokens }) {
    const embeddings = rowsOf(rows, size).map((row) => `{"values":[${row.join(',')}]}`);
    return `{"embeddings":[${embeddings.join(',')}],"usageMetadata":{"promptTokenCount":${inputTokens}}}`;
  },
  ollama({ model, rows, size, inputTokens }) {
    const embeddings = rowsOf(rows, size).map((row) => `[${row.join(',')}]`);
    return `{"model":${JSON.stringify(model)},"embeddings":[${embeddings.join(',')}],"prompt_eval_count":${inputTokens}}`;
  },
  'ollama-one': ({ rows }) => `{"embedding":[${rows.join(',')}]}`,
  cohere({ encoding, types = [encoding], rows, size, inputTokens }) {
    const vectors = rowsOf(rows, size);
    const embeddings = types.map((type) => `"${type}":[${vectors.map((row) => ofType(row, type)).join(',')}]`);
    const meta = `{"api_version":{"version":"2"},"billed_units":{"input_tokens":${inputTokens}}}`;
    const id = randomUUID();
    return `{"id":"${id}","embeddings":{${embeddings.join(',')}},"meta":${meta},"response_type":"embeddings_by_type"}`;
  },
  'cohere-floats'({ rows, size }) {
    const embeddings = rowsOf(rows, size).map((row) => `[${row.join(',')}]`);
    return `{"id":"${randomUUID()}","embeddings":[${embeddings.join(',')}],"response_type":"embeddings_floats"}`;
  },
  titan({ rows, inputTokens }) {
    const embedding = `[${rows.join(',')}]`;
    return `{"embedding":${embedding},"embeddingsByType":{"float":${embedding}},"inputTextTokenCount":${inputTokens}}`;
  },
  'ai-sdk'({ rows, size, inputTokens }) {
    const embeddings = rowsOf(rows, size).map((row) => `[${row.join(',')}]`);
    return `{"embeddings":[${embeddings.join(',')}],"usage":{"tokens":${inputTokens}}}`;
  },
  nova: ({ rows }) => `{"embeddings":[{"embeddingType":"TEXT","embedding":[${rows.join(',')}]}]}`,
};

function encoded(row: Rows, encoding: VectorEncoding): string {
  return encoding === 'base64' ? `"${float32Base64(row)}"` : `[${row.join(',')}]`;
}

function ofType(row: Rows, type: VectorType): string {
  if (type === 'float' || type === 'base64') return encoded(row, type);
  return `[${smallVector[type](row).join(',')}]`;
}

function rowsOf(rows: Rows, size: number): Rows[] {
  return Array.from({ length: rows.length / size }, (_, i) => rows.subarray(i * size, (i + 1) * size));
}

/** Little-endian, whatever the byte order of the machine is. */
function float32Base64(row: Rows): string {
  const bytes = Buffer.allocUnsafe(row.length * 4);
  let at = 0;
  for (const value of row) at = bytes.writeFloatLE(value, at);
  return bytes.toString('base64');
}
