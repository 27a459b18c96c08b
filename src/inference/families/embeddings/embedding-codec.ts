import type { DecodedEmbeddings, EmbeddingFormatId } from '../../../formats/embeddings/format.ts';
import { embeddingFormats } from '../../../formats/embeddings/index.ts';
import { type EmbeddingAnswer, writeEmbeddings } from '../../../formats/embeddings/write-answer.ts';
import type { AnswerForm } from '../../../formats/neutral/embedding.ts';
import type { Fault } from '../../../formats/neutral/outcome.ts';
import { offLoopBodyBytes } from '../../../kernel/limits.ts';
import { parseAnswer } from '../../spine/answer-reader.ts';
import { createRestingThread } from '../../spine/resting-thread.ts';

/** Orders to the worker; every message is answered once, with the same `id`. */
export type EmbeddingWork =
  | { id: number; kind: 'decode'; bytes: Uint8Array<ArrayBuffer>; format: EmbeddingFormatId; count: number }
  | { id: number; kind: 'encode'; answer: EmbeddingAnswer; form: AnswerForm };

/** Reads upstreams' vectors and writes callers': few here and now, many in a thread (faults.md F24). */
export interface EmbeddingCodec {
  /** An upstream's 2xx body, whose memory may be taken away. */
  decode(tenant: string, bytes: Buffer, format: EmbeddingFormatId, count: number): Promise<DecodedEmbeddings | Fault>;
  /** A caller's answer; the memory of the rows may be taken away. */
  encode(tenant: string, answer: EmbeddingAnswer, form: AnswerForm): Promise<Buffer>;
  close(): Promise<void>;
}

/** A number takes some 150 ns to write out; this many take less than 10 ms. */
const numbersOnLoopMax = 50_000;

/** The concurrent calls that a request may have bound the thread's queue. */
export function createEmbeddingCodec(): EmbeddingCodec {
  const thread = createRestingThread(new URL('./embedding-worker.ts', import.meta.url), 'embedding worker');
  const offLoop = <T>(tenant: string, work: (id: number) => EmbeddingWork, buffer: ArrayBuffer): Promise<T> =>
    thread.ask<T>(tenant, (id) => ({ message: work(id), transfer: [buffer] }));

  return {
    async decode(tenant, bytes, format, count) {
      if (bytes.length <= offLoopBodyBytes) return decodeEmbeddings(bytes, format, count);
      const movable = copiedBytes(bytes);
      return offLoop(tenant, (id) => ({ id, kind: 'decode', bytes: movable, format, count }), movable.buffer);
    },
    async encode(tenant, answer, form) {
      const numbers = answer.rows.length * (answer.types?.length ?? 1);
      if (numbers <= numbersOnLoopMax) return writeEmbeddings(answer, form);
      const bytes = await offLoop<Uint8Array<ArrayBuffer>>(
        tenant,
        (id) => ({ id, kind: 'encode', answer, form }),
        answer.rows.buffer,
      );
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    close: thread.close,
  };
}

/** Synchronous: see `EmbeddingCodec`. */
export function decodeEmbeddings(bytes: Buffer, format: EmbeddingFormatId, count: number): DecodedEmbeddings | Fault {
  const parsed = parseAnswer(bytes);
  return parsed.fault ?? embeddingFormats[format].decode(parsed.value, count);
}

/** Moved, not copied, where the memory is the body's alone. */
function copiedBytes(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const alone = bytes.byteOffset === 0 && bytes.buffer.byteLength === bytes.length;
  return alone ? new Uint8Array(bytes.buffer as ArrayBuffer) : new Uint8Array(bytes);
}
