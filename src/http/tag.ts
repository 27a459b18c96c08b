import type { IncomingHttpHeaders } from 'node:http';
import { cleanTag } from '../inference/neutral/tag.ts';

/** What a call's use is summed by, of `x-culvert-tag`; null without one. */
export function tagOf(headers: IncomingHttpHeaders): string | null {
  const header = headers['x-culvert-tag'];
  return cleanTag(typeof header === 'string' ? header : header?.[0]);
}
