import { withFirst, withoutFirst } from '../gemini/path-members.ts';

const written = /^\{"model":"(?:[^"\\]|\\.)*","stream":(?:true|false),?/;

/**
 * A body with AWS's path members as its first members, so that it can be read as any other is. If it is not an object,
 * it stays as it came, and the reader refuses it.
 */
export function withPathMembers(raw: Buffer, model: string, stream: boolean): Buffer {
  return withFirst(raw, `"model":${JSON.stringify(model.toWellFormed())},"stream":${stream}`);
}

/** Original bytes of the caller; null if they do not begin as written here. */
export const withoutPathMembers = (raw: Buffer) => withoutFirst(raw, written);
