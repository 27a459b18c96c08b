import type { IncomingHttpHeaders } from 'node:http';
import { cleanTag } from '../formats/neutral/tag.ts';
import { headerText } from '../kernel/web/header-text.ts';

/** The tag of `x-culvert-tag`, by which usage is summed; null without one. */
export function tagOf({ 'x-culvert-tag': header }: IncomingHttpHeaders): string | null {
  return typeof header === 'string' ? cleanTag(headerText(header)) : null;
}
