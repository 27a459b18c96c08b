import { writeEmbeddings } from '../../../formats/embeddings/write-answer.ts';
import { answerOrders } from '../../../kernel/threads/thread-port.ts';
import { decodeEmbeddings, type EmbeddingWork } from './embedding-codec.ts';

answerOrders(
  (work: EmbeddingWork) => {
    if (work.kind === 'encode') return new Uint8Array(writeEmbeddings(work.answer, work.form));
    const { bytes, format, count } = work;
    return decodeEmbeddings(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), format, count);
  },
  (result) => ('buffer' in result ? [result.buffer] : 'rows' in result ? [result.rows.buffer] : []),
);
