import type { UploadPiece } from './format.ts';

export interface FormPart {
  name: string;
  value: string;
}

/** A `multipart/form-data` body around one file, which comes last: some servers want to know the rest by then. */
export function formBody(
  boundary: string,
  fields: readonly FormPart[],
  file: { name: string; extension: string; mime: string },
): { contentType: string; pieces: readonly UploadPiece[] } {
  const parts = fields.map(
    ({ name, value }) => `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"\r\n\r\n${value}\r\n`,
  );
  // Named by what it is: some services go by the name alone, and a caller's may say anything.
  const disposition = `form-data; name="${quoted(file.name)}"; filename="audio.${file.extension}"`;
  const head = `--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${file.mime}\r\n\r\n`;
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    pieces: [{ text: parts.join('') + head }, 'file', { text: `\r\n--${boundary}--\r\n` }],
  };
}

/** Callers choose names: none may end its own line or quotes (WHATWG, "multipart/form-data encoding algorithm"). */
function quoted(name: string): string {
  return name.replace(/["\r\n]/g, (character) => escapes[character]!);
}

const escapes: Readonly<Record<string, string>> = { '"': '%22', '\r': '%0D', '\n': '%0A' };
