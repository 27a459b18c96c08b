import { invalid } from '../../kernel/failure.ts';
import type { Result } from '../dialects/dialect.ts';
import type { FetchedMedia, MediaUrl } from '../neutral/media-urls.ts';
import type { MediaFetcher } from './fetch-media.ts';

/** One request's media: fetched once, however many attempts and choices need them. */
export interface RequestMedia {
  get(wanted: readonly MediaUrl[]): Promise<Result<FetchedMedia>>;
}

/**
 * `leftMs` is what the request has left; `onGone` is told how to give up when nobody waits any more. Once fetched or
 * refused, it stays so for the request.
 */
export function createRequestMedia(
  fetcher: MediaFetcher,
  request: { leftMs(): number; onGone(giveUp: () => void): void },
): RequestMedia {
  let fetching: Promise<Result<FetchedMedia>> | null = null;
  return {
    get(wanted) {
      if (fetching === null) {
        const leaving = new AbortController();
        request.onGone(() => leaving.abort());
        fetching = fetcher.fetch(wanted, Math.max(0, request.leftMs()), leaving.signal);
      }
      return fetching;
    },
  };
}

/** For explanations: nothing is fetched, and what is wanted says so. */
export const nothingFetched: RequestMedia = {
  async get([first]) {
    const param = first?.param ?? 'messages';
    return { ok: false, failure: invalid(param, `'${param}' would first be fetched from its URL, then sent inline.`) };
  },
};
