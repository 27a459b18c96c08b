import { withFirst } from '../gemini/path-members.ts';

const written = /^\{"model":"(?:[^"\\]|\\.)*","stream":(?:true|false),?/;
const writtenCharsMax = 8_192;

/**
 * A body with what AWS has in the path as its first members, so that it can be read as any other is. What is no object
 * goes as it came, to be refused by whoever parses it.
 */
export function withPathMembers(raw: Buffer, model: string, stream: boolean): Buffer {
  return withFirst(raw, `"model":${JSON.stringify(model.toWellFormed())},"stream":${stream}`);
}

/** The caller's own bytes again; null when they do not begin as written here. */
export function withoutPathMembers(raw: Buffer): Buffer | null {
  const members = written.exec(raw.subarray(0, writtenCharsMax).toString('latin1'));
  return members === null ? null : Buffer.concat([Buffer.from('{'), raw.subarray(members[0].length)]);
}
