import { createHash } from 'node:crypto';

const hashChars = 16;

/**
 * A tool call's id of at most `charsMax` characters: a longer one keeps its beginning and ends in a hash of the whole,
 * so that call and result go on belonging together, in every turn. Ids travel: vLLM's have 46 characters, others' more,
 * and a caller that goes on with another provider sends them along.
 */
export function fitCallId(id: string, charsMax: number): string {
  if (id.length <= charsMax) return id;
  const hash = createHash('sha256').update(id).digest('hex').slice(0, hashChars);
  return `${id.slice(0, charsMax - hashChars - 1)}_${hash}`;
}
