import { parentPort } from 'node:worker_threads';
import type { EmbeddingFormatId } from '../dialects/embeddings/format.ts';
import { type EmbeddingAnswer, writeEmbeddings } from '../dialects/embeddings/write-answer.ts';
import type { AnswerForm } from '../neutral/embedding.ts';
import { decodeEmbeddings } from './embedding-codec.ts';

/** Orders to the worker; every message is answered once, with the same `id`. */
export type EmbeddingWork =
  | { id: number; kind: 'decode'; bytes: Uint8Array<ArrayBuffer>; format: EmbeddingFormatId; count: number }
  | { id: number; kind: 'encode'; answer: EmbeddingAnswer; form: AnswerForm };

parentPort!.on('message', (work: EmbeddingWork) => {
  const { id } = work;
  try {
    if (work.kind === 'encode') {
      const bytes = new Uint8Array(writeEmbeddings(work.answer, work.form));
      return parentPort!.postMessage({ id, result: bytes }, [bytes.buffer]);
    }
    const { bytes, format, count } = work;
    const result = decodeEmbeddings(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), format, count);
    parentPort!.postMessage({ id, result }, 'class' in result ? [] : [result.rows.buffer]);
  } catch (error) {
    parentPort!.postMessage({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
