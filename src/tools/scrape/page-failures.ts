import type { Failure, PageRefusal } from '../../kernel/failure.ts';
import type { FetchRefusal } from '../../net/guarded-fetch.ts';
import type { PageFetched } from '../../net/page-fetch.ts';
import type { Rendered } from '../page-renderer.ts';

export function refused(code: PageRefusal, message: string): Failure {
  return { kind: 'page-refused', code, message, param: code === 'url_blocked' ? 'url' : null };
}

export const tooSlow = refused('page_timeout', "The page did not come in time; 'timeout' may be raised.");
/** Nobody is there to read it. */
export const left: Failure = { kind: 'request-timeout', message: 'Nobody waits for the page any more.' };

const codeOf = {
  blocked: 'url_blocked',
  timeout: 'page_timeout',
  'too-large': 'page_too_large',
  redirects: 'page_redirects',
  broken: 'page_broken',
  unreachable: 'page_unreachable',
} as const satisfies Record<Exclude<FetchRefusal, 'aborted'>, PageRefusal>;

/** What callers are told of a page that could not be had. */
export function refusalOf({ reason, message }: (PageFetched | Rendered) & { ok: false }): Failure {
  if (reason === 'aborted') return left;
  if (reason === 'unfit' || reason === 'no-html')
    return { kind: 'unsupported', message: `It cannot be rendered: ${message}.` };
  if (reason === 'busy') return { kind: 'overloaded', message: `The page cannot be fetched now: ${message}.` };
  const code = codeOf[reason];
  const named = code === 'url_blocked' ? ' (url_blocked)' : '';
  return refused(code, `The page cannot be fetched${named}: ${message}.`);
}
