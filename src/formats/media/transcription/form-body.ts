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
  const parts = fields.map((field) => fieldPart(boundary, field));
  // Named by its type: some services go by the name alone, and a caller's may say anything.
  const head = filePartHead(boundary, { ...file, fileName: `audio.${file.extension}` });
  return {
    contentType: formType(boundary),
    pieces: [{ text: parts.join('') + head }, 'file', { text: `\r\n${formEnd(boundary)}` }],
  };
}

export function formType(boundary: string): string {
  return `multipart/form-data; boundary=${boundary}`;
}

export function fieldPart(boundary: string, { name, value }: FormPart): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"\r\n\r\n${value}\r\n`;
}

/** The file's bytes and a line break follow. */
export function filePartHead(boundary: string, file: { name: string; fileName: string; mime: string }): string {
  const disposition = `form-data; name="${quoted(file.name)}"; filename="${quoted(file.fileName)}"`;
  return `--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${quoted(file.mime)}\r\n\r\n`;
}

export function formEnd(boundary: string): string {
  return `--${boundary}--\r\n`;
}

/** Callers choose names and types: none may end its line or quotes (WHATWG, "multipart/form-data encoding algorithm"). */
function quoted(name: string): string {
  return name.replace(/["\r\n]/g, (character) => escapes[character] ?? character);
}

const escapes: Readonly<Record<string, string>> = { '"': '%22', '\r': '%0D', '\n': '%0A' };
