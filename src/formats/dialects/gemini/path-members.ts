/** Members of the path. Clients name a model in the body, too: the path's one counts. */
export const pathModel = 'model of the path';
export const pathStream = 'stream of the path';

/** Pattern of the members that `withPathMembers` writes. */
const written = new RegExp(`^\\{"${pathModel}":"(?:[^"\\\\]|\\\\.)*","${pathStream}":(?:true|false),?`);
const writtenCharsMax = 8_192;

/**
 * A body with Google's path members as its first members, so that it can be read as any other is. If it is not an
 * object, it stays as it came, and the reader refuses it.
 */
export function withPathMembers(raw: Buffer, model: string, stream: boolean): Buffer {
  return withFirst(raw, `"${pathModel}":${JSON.stringify(model.toWellFormed())},"${pathStream}":${stream}`);
}

/** The same for a request for embeddings. */
export function withPathModel(raw: Buffer, model: string): Buffer {
  return withFirst(raw, `"${pathModel}":${JSON.stringify(model.toWellFormed())}`);
}

/** The body that Google counts: of a whole request, not of its contents alone. `model`: the caller's name of it. */
export function asCountRequest(raw: Buffer | string, model: string): Buffer {
  const resource = JSON.stringify(model.includes('/') ? model : `models/${model}`);
  const request = withFirst(Buffer.from(raw), `"model":${resource}`);
  return Buffer.concat([Buffer.from('{"generateContentRequest":'), request, Buffer.from('}')]);
}

export function withFirst(raw: Buffer, written: string): Buffer {
  const brace = /^\s*\{/.exec(raw.subarray(0, 64).toString('latin1'));
  if (brace === null) return raw;
  const rest = raw.subarray(brace[0].length);
  const empty = /^\s*\}/.test(rest.subarray(0, 64).toString('latin1'));
  const members = `{${written}${empty ? '' : ','}`;
  return Buffer.concat([Buffer.from(members), rest]);
}

/** Original bytes of the caller; null if they do not begin as written here. */
export const withoutPathMembers = (raw: Buffer) => withoutFirst(raw, written);

export function withoutFirst(raw: Buffer, pattern: RegExp): Buffer | null {
  const members = pattern.exec(raw.subarray(0, writtenCharsMax).toString('latin1'));
  return members === null ? null : Buffer.concat([Buffer.from('{'), raw.subarray(members[0].length)]);
}
