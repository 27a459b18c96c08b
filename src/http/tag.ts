import type { IncomingHttpHeaders } from 'node:http';
import { cleanTag } from '../formats/neutral/tag.ts';

/** The tag of `x-culvert-tag`, by which usage is summed; null without one. */
export function tagOf(headers: IncomingHttpHeaders): string | null {
  const header = headers['x-culvert-tag'];
  return cleanTag(typeof header === 'string' ? header : header?.[0]);
}
