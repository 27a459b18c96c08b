import { createHash } from 'node:crypto';

/** A Lua script and the name under which Redis keeps it. */
export interface Script {
  text: string;
  sha: string;
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
