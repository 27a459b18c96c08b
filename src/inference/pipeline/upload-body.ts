import type { UploadPiece } from '../dialects/transcription/format.ts';
import type { UpstreamUpload } from '../transport/upstream-call.ts';

/** A file that is sent to upstreams, read anew for each. */
export interface SendableFile {
  bytes: number;
  read(): AsyncIterable<Buffer>;
}

/** A body around a file, which is never whole in memory. */
export function uploadOf(pieces: readonly UploadPiece[], file: SendableFile): UpstreamUpload {
  return {
    bytes: pieces.reduce((sum, piece) => sum + lengthOf(piece, file), 0),
    async *open() {
      for (const piece of pieces) {
        if (piece === 'file') yield* file.read();
        else if (piece === 'file-base64') yield* inBase64(file.read());
        else yield Buffer.from(piece.text);
      }
    },
  };
}

function lengthOf(piece: UploadPiece, { bytes }: SendableFile): number {
  if (piece === 'file') return bytes;
  return piece === 'file-base64' ? Math.ceil(bytes / 3) * 4 : Buffer.byteLength(piece.text);
}

/** Three bytes are four characters: what is over waits for the next piece. */
async function* inBase64(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let over: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const all = over.length === 0 ? chunk : Buffer.concat([over, chunk]);
    const whole = all.length - (all.length % 3);
    if (whole > 0) yield Buffer.from(all.toString('base64', 0, whole), 'latin1');
    over = all.subarray(whole);
  }
  if (over.length > 0) yield Buffer.from(over.toString('base64'), 'latin1');
}
