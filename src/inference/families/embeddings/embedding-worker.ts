import { writeEmbeddings } from '../../../formats/dialects/embeddings/write-answer.ts';
import { threadPort } from '../../../kernel/threads/thread-port.ts';
import { decodeEmbeddings, type EmbeddingWork } from './embedding-codec.ts';

threadPort().on('message', (work: EmbeddingWork) => {
  const { id } = work;
  try {
    if (work.kind === 'encode') {
      const bytes = new Uint8Array(writeEmbeddings(work.answer, work.form));
      return threadPort().postMessage({ id, result: bytes }, [bytes.buffer]);
    }
    const { bytes, format, count } = work;
    const result = decodeEmbeddings(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), format, count);
    threadPort().postMessage({ id, result }, 'class' in result ? [] : [result.rows.buffer]);
  } catch (error) {
    threadPort().postMessage({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
