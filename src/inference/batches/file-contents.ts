import type { BatchStore } from '../../books/metering/batch-store.ts';
import { fileName, type RemovableFiles } from '../../kernel/file-store.ts';

/** Where the chunks of files are: with their rows, or in a bucket. */
export interface FileContents {
  put(file: string, seq: number, sealed: Uint8Array): Promise<void>;
  /** Null when it is not there. */
  get(file: string, seq: number): Promise<Uint8Array | null>;
  /** `chunks`: no more than so many were put. */
  remove(file: string, chunks: number): Promise<void>;
}

export function contentsInRows(store: BatchStore): FileContents {
  return { put: store.putChunk, get: store.chunk, remove: store.removeChunks };
}

/** Name of the object with a chunk of a file. */
export function chunkName(file: string, seq: number): string {
  return fileName(`${file.replace('file-', '')}${seq.toString(36).padStart(6, '0')}`, 'part');
}

/** One object a chunk. */
export function contentsInFiles(files: RemovableFiles): FileContents {
  return {
    put: (file, seq, sealed) => files.put(chunkName(file, seq), sealed, 0),
    async get(file, seq) {
      const opened = await files.open(chunkName(file, seq));
      return opened === null ? null : Buffer.concat(await opened.content.toArray());
    },
    async remove(file, chunks) {
      for (let seq = 0; seq < chunks; seq++) await files.remove(chunkName(file, seq));
    },
  };
}
