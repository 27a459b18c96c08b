import {
  type FormPart,
  fieldPart,
  filePartHead,
  formEnd,
  formType,
} from '../../formats/media/transcription/form-body.ts';
import type { UploadPiece } from '../../formats/media/transcription/format.ts';
import { randomBase62 } from '../../kernel/ids.ts';
import type { UpstreamUpload } from '../../upstream/transport/upstream-call.ts';

/** A file that is sent to upstreams, read anew for each. */
export interface SendableFile {
  bytes: number;
  read(): AsyncIterable<Buffer>;
}

/** A piece of a body: text, or a file, unchanged or in base64. */
export type BodyPiece = { text: string } | { file: SendableFile; as: 'bytes' | 'base64' };

/** A body around a file, which is never whole in memory. */
export function uploadOf(pieces: readonly UploadPiece[], file: SendableFile): UpstreamUpload {
  return joinedUpload(
    pieces.map((piece): BodyPiece => {
      if (piece === 'file') return { file, as: 'bytes' };
      return piece === 'file-base64' ? { file, as: 'base64' } : piece;
    }),
  );
}

/** The same around several. */
export function joinedUpload(pieces: readonly BodyPiece[]): UpstreamUpload {
  return {
    bytes: pieces.reduce((sum, piece) => sum + lengthOf(piece), 0),
    async *open() {
      for (const piece of pieces) {
        if ('text' in piece) yield Buffer.from(piece.text);
        else if (piece.as === 'bytes') yield* piece.file.read();
        else yield* inBase64(piece.file.read());
      }
    },
  };
}

/** A file of a form, and what the form says of it. */
export interface FormFile {
  name: string;
  fileName: string;
  mime: string;
  file: SendableFile;
}

/** A `multipart/form-data` body: its fields, and behind them its files, which are never whole in memory. */
export function formUpload(
  fields: readonly FormPart[],
  files: readonly FormFile[],
): UpstreamUpload & { contentType: string } {
  const boundary = `culvert-${randomBase62(24)}`;
  const pieces: BodyPiece[] = [{ text: fields.map((field) => fieldPart(boundary, field)).join('') }];
  for (const { file, ...about } of files) {
    pieces.push({ text: filePartHead(boundary, about) }, { file, as: 'bytes' }, { text: '\r\n' });
  }
  pieces.push({ text: formEnd(boundary) });
  return { ...joinedUpload(pieces), contentType: formType(boundary) };
}

function lengthOf(piece: BodyPiece): number {
  if ('text' in piece) return Buffer.byteLength(piece.text);
  return piece.as === 'bytes' ? piece.file.bytes : Math.ceil(piece.file.bytes / 3) * 4;
}

/** Three bytes are four characters: the rest waits for the next piece. */
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
