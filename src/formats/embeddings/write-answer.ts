import { randomUUID } from 'node:crypto';
import { endianness } from 'node:os';
import type { AnswerForm, VectorEncoding, VectorType } from '../neutral/embedding.ts';

type Row = Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>;

/** One request's vectors, as its answer tells them. */
export interface EmbeddingAnswer {
  /** The alias. */
  model: string;
  encoding: VectorEncoding;
  /** Types in Cohere's answer, or the one of bytes in base64 in OpenAI's; absent: `encoding` alone. */
  types?: readonly VectorType[];
  /** Row after row. */
  rows: Row;
  size: number;
  inputTokens: number;
}

/** A caller's answer, as JSON. */
export function writeEmbeddings(answer: EmbeddingAnswer, form: AnswerForm): Buffer<ArrayBuffer> {
  return Buffer.from(writers[form](answer));
}

const writers: Readonly<Record<AnswerForm, (answer: EmbeddingAnswer) => string>> = {
  openai({ model, encoding, types: [type = encoding] = [], rows, size, inputTokens }) {
    const data = rowsOf(rows, size).map(
      (row, index) => `{"object":"embedding","index":${index},"embedding":${ofType(row, type, 'bytes')}}`,
    );
    const usage = `{"prompt_tokens":${inputTokens},"total_tokens":${inputTokens}}`;
    // Mistral's clients refuse an answer without `id`.
    return `{"id":"embd-${randomUUID()}","object":"list","data":[${data.join(',')}],"model":${JSON.stringify(model)},"usage":${usage}}`;
  },
  'gemini-one': ({ rows, inputTokens }) =>
    `{"embedding":{"values":[${rows.join(',')}]},"usageMetadata":{"promptTokenCount":${inputTokens}}}`,
  'gemini-batch'({ rows, size, inputTokens }) {
    const embeddings = rowsOf(rows, size).map((row) => `{"values":[${row.join(',')}]}`);
    return `{"embeddings":[${embeddings.join(',')}],"usageMetadata":{"promptTokenCount":${inputTokens}}}`;
  },
  vertex({ rows, size, inputTokens }) {
    const vectors = rowsOf(rows, size);
    // Clients need a count of each text, and only that of all is known: each has its share.
    const statistics = `{"token_count":${Math.round(inputTokens / vectors.length)},"truncated":false}`;
    const predictions = vectors.map((row) => `{"embeddings":{"values":[${row.join(',')}],"statistics":${statistics}}}`);
    return `{"predictions":[${predictions.join(',')}]}`;
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

function ofType(row: Row, type: VectorType, form: 'list' | 'bytes' = 'list'): string {
  if (type === 'float') return `[${row.join(',')}]`;
  if (type === 'base64') return `"${float32Base64(row)}"`;
  const numbers = smallVector[type](row);
  return form === 'list' ? `[${numbers.join(',')}]` : `"${Buffer.from(numbers).toString('base64')}"`;
}

function rowsOf(rows: Row, size: number): Row[] {
  return Array.from({ length: rows.length / size }, (_, i) => rows.subarray(i * size, (i + 1) * size));
}

/** Little-endian, whatever the byte order of the machine is. */
function float32Base64(row: Row): string {
  const bytes = Buffer.from(Float32Array.from(row).buffer);
  return (endianness() === 'LE' ? bytes : bytes.swap32()).toString('base64');
}

/** Vectors of any provider in the small types of Cohere. */
const smallVector: Readonly<Record<Exclude<VectorType, VectorEncoding>, (row: Row) => number[]>> = {
  int8: scaled,
  uint8: (row) => scaled(row).map((value) => value + 128),
  ubinary: signBits,
  binary: (row) => signBits(row).map((byte) => byte - 128),
};

/**
 * Whole numbers from -127 to 127. The largest number of each vector is the scale, as no provider gives the range of its
 * model: angles between vectors stay the same, whichever requests they came in.
 */
function scaled(row: Row): number[] {
  let largest = 0;
  for (const value of row) largest = Math.max(largest, Math.abs(value));
  // JSON would have -0, and a vector of zeros has no scale.
  return Array.from(row, (value) => (largest === 0 ? 0 : Math.round((value / largest) * 127) + 0));
}

/** A bit for each number, 1 where it is above 0, the first in the highest place of the first byte. */
function signBits(row: Row): number[] {
  const bytes = new Array<number>(Math.ceil(row.length / 8)).fill(0);
  for (const [at, value] of row.entries()) {
    if (value > 0) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (0x80 >> (at & 7));
  }
  return bytes;
}
