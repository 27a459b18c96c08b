import type { IncomingHttpHeaders } from 'node:http';
import { cleanTag } from '../formats/neutral/tag.ts';
import { headerText } from '../kernel/web/header-text.ts';

/** The tag of `x-culvert-tag`, by which usage is summed; null without one. */
export function tagOf(headers: IncomingHttpHeaders): string | null {
  const header = headers['x-culvert-tag'];
  const text = typeof header === 'string' ? header : header?.[0];
  return text === undefined ? null : cleanTag(headerText(text));
}
