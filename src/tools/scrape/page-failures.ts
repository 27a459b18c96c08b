import type { Failure, PageRefusal, PageRefused } from '../../kernel/failure.ts';
import type { FetchRefusal } from '../../net/guarded-fetch.ts';
import type { PageFetched } from '../../net/page-robots.ts';
import type { Rendered } from '../page-renderer.ts';

/** `worked`: a thread or the browser was killed over it, so that it is paid. */
export function refused(code: PageRefusal, message: string, worked?: 'worked' | undefined): PageRefused {
  const param = code === 'url_blocked' ? 'url' : null;
  return { kind: 'page-refused', code, message, param, ...(worked !== undefined && { worked: true }) };
}

export const tooSlowMessage = "The page did not arrive in time. Raise 'timeout' to wait longer.";
/** Nobody is there to read it. */
export const left: Failure = { kind: 'request-timeout', message: 'The caller no longer waits for the page.' };
/** The same, of a page that was being read or rendered. */
export const leftAtWork: Failure = refused('page_timeout', 'The caller no longer waits for the page.', 'worked');

const codeOf = {
  blocked: 'url_blocked',
  timeout: 'page_timeout',
  'too-large': 'page_too_large',
  redirects: 'page_redirects',
  broken: 'page_broken',
  unreachable: 'page_unreachable',
} as const satisfies Record<Exclude<FetchRefusal, 'aborted'>, PageRefusal>;

/** Errors for callers of a page that could not be read. */
export function refusalOf(refusal: (PageFetched | Rendered) & { ok: false }): Failure {
  const { reason, message } = refusal;
  const worked = 'worked' in refusal && refusal.worked ? 'worked' : undefined;
  if (reason === 'aborted') return worked === undefined ? left : leftAtWork;
  if (reason === 'unfit' || reason === 'no-html')
    return { kind: 'unsupported', message: `It cannot be rendered: ${message}.` };
  if (reason === 'busy') return { kind: 'overloaded', message: `The page cannot be fetched now: ${message}.` };
  const code = codeOf[reason];
  const named = code === 'url_blocked' ? ' (url_blocked)' : '';
  return refused(code, `The page cannot be fetched${named}: ${message}.`, worked);
}
