import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import { createFetchGuard, type FetchRules, type ResolveAddresses } from '../../../net/fetch-guard.ts';
import { guardedFetch } from '../../../net/guarded-fetch.ts';
import { type CheckedPicture, checkedPicture, type PictureForm } from './image-codec.ts';

/** Fetches pictures that upstreams made and named by URL. */
export type PictureFetcher = ReturnType<typeof createPictureFetcher>;

export interface PictureOrder {
  upstreamHost: string | null;
  as: PictureForm;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Largest size of one image; the largest that models make have some 30 MB. */
const bytesMax = 48 * 1024 * 1024;
const timeoutMaxMs = 60_000;

/** `rules` are those in force. Every hop calls `resolve` again. */
export function createPictureFetcher(parts: { rules: () => FetchRules; resolve: ResolveAddresses }) {
  return {
    /** `upstreamHost`: the upstream's own host and port, where it may be private, since the operator wrote it. */
    async fetch(url: string, { upstreamHost, as, timeoutMs, signal }: PictureOrder): Promise<CheckedPicture | Fault> {
      const { ports, allow_private: allowed } = parts.rules();
      const guard = createFetchGuard(
        { ports, allow_private: upstreamHost === null ? allowed : [...allowed, upstreamHost] },
        parts.resolve,
      );
      const fetched = await guardedFetch(url, {
        guard,
        bytesMax,
        timeoutMs: Math.max(1, Math.min(timeoutMs, timeoutMaxMs)),
        accept: 'image/*',
        signal,
      });
      if (!fetched.ok) return fault('malformed', `answered with a link to a picture, but ${fetched.message}`);
      if (fetched.status !== 200)
        return fault('malformed', `answered with a link to a picture, which returned ${fetched.status}`);
      return (
        checkedPicture(fetched.body, as) ??
        fault('malformed', 'answered with a link to something that is not a picture')
      );
    },
  };
}
