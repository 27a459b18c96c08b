import { withFirst } from '../gemini/path-members.ts';

const written = /^\{"model":"(?:[^"\\]|\\.)*","stream":(?:true|false),?/;
const writtenCharsMax = 8_192;

/**
 * A body with AWS's path members as its first members, so that it can be read as any other is. If it is not an object,
 * it stays as it came, and the reader refuses it.
 */
export function withPathMembers(raw: Buffer, model: string, stream: boolean): Buffer {
  return withFirst(raw, `"model":${JSON.stringify(model.toWellFormed())},"stream":${stream}`);
}

/** Original bytes of the caller; null if they do not begin as written here. */
export function withoutPathMembers(raw: Buffer): Buffer | null {
  const members = written.exec(raw.subarray(0, writtenCharsMax).toString('latin1'));
  return members === null ? null : Buffer.concat([Buffer.from('{'), raw.subarray(members[0].length)]);
}
