import { mediaTypeOf } from '../../../formats/neutral/media-type.ts';
import type { FetchedMedia, MediaUrl } from '../../../formats/neutral/media-urls.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { createFetchGuard, type FetchRules, type ResolveAddresses } from '../../../net/fetch-guard.ts';
import { type Fetched, guardedFetch } from '../../../net/guarded-fetch.ts';

/** Fetches what callers name by URL, for targets that take it inline only. */
export interface MediaFetcher {
  /** All of it or the first failure: a 400 that names the part. `timeoutMs` is for all together. */
  fetch(needed: readonly MediaUrl[], timeoutMs: number, signal: AbortSignal): Promise<FetchedMedia | Failure>;
}

/** Most different URLs of one request. */
const urlsMax = 32;
/** Most bytes of one request, all together, as many as Google accepts inline. */
const bytesMax = 20 * 1024 * 1024;
const atOnceMax = 4;
/** Most bytes of all requests together. Above it callers must retry. */
const runningMax = 64;
const timeoutMaxMs = 15_000;

/** `rules` are those in force. Every hop calls `resolve` again. */
export function createMediaFetcher(parts: { rules: () => FetchRules; resolve: ResolveAddresses }): MediaFetcher {
  let running = 0;

  async function fetchAll(
    needed: readonly MediaUrl[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<FetchedMedia | Failure> {
    const guard = createFetchGuard(parts.rules(), parts.resolve);
    const stop = new AbortController();
    const all = AbortSignal.any([signal, stop.signal]);
    const media: Record<string, { mediaType: string; base64: string }> = Object.create(null);
    const queue = [...needed];
    let bytesLeft = bytesMax;
    let failure: Failure | null = null;

    const work = async () => {
      for (let one = queue.shift(); one !== undefined && failure === null; one = queue.shift()) {
        const options = { guard, bytesMax: bytesLeft, timeoutMs, accept: kinds[one.kind].accept, signal: all };
        const read = readFetched(one, await guardedFetch(one.url, options));
        if (!isFailure(read)) bytesLeft -= read.bytes;
        if (!isFailure(read) && bytesLeft >= 0) {
          media[one.url] = { mediaType: read.mediaType, base64: read.base64 };
          continue;
        }
        const tooLarge = `it and the ones before it are larger than ${bytesMax} bytes`;
        failure ??= isFailure(read) ? read : refuse(one, tooLarge);
        stop.abort();
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnceMax, needed.length) }, work));
    return failure ?? media;
  }

  return {
    async fetch(needed, timeoutMs, signal) {
      const different = [...new Map(needed.map((one) => [one.url, one])).values()];
      const last = different[urlsMax];
      if (last !== undefined) return refuse(last, `a request may name at most ${urlsMax} by URL`);
      if (running >= runningMax) {
        const message = 'Culvert is fetching too many pictures at once. Retry shortly, or send them inline.';
        return { kind: 'overloaded', message };
      }
      running++;
      try {
        return await fetchAll(different, Math.min(timeoutMs, timeoutMaxMs), signal);
      } finally {
        running--;
      }
    },
  };
}

/** The types to accept of each kind, and its word in messages. */
const kinds = {
  image: { accept: 'image/*', word: 'picture' },
  audio: { accept: 'audio/*', word: 'sound' },
  video: { accept: 'video/*', word: 'video' },
  document: { accept: 'application/pdf, text/*;q=0.9, application/json;q=0.8', word: 'file' },
} as const satisfies Record<MediaUrl['kind'], { accept: string; word: string }>;

type ReadMedia = { mediaType: string; base64: string; bytes: number };

function readFetched(medium: MediaUrl, fetched: Fetched): ReadMedia | Failure {
  if (!fetched.ok) return refuse(medium, fetched.message);
  if (fetched.status < 200 || fetched.status >= 300) return refuse(medium, `its server answered ${fetched.status}`);
  const mediaType = typeFor(medium.kind, fetched.body, fetched.contentType);
  if (mediaType === null) return refuse(medium, `its content is not a ${kinds[medium.kind].word}`);
  const { body } = fetched;
  return { mediaType, base64: body.toString('base64'), bytes: body.length };
}

function typeFor(kind: MediaUrl['kind'], body: Buffer, contentType: string): string | null {
  const known = mediaTypeOf(body);
  if (kind === 'image') return known?.startsWith('image/') ? known : null;
  const declared = contentType.replace(/;.*/s, '').trim().toLowerCase();
  // Sound and videos have too many forms to be known by their first bytes.
  if (kind === 'audio' || kind === 'video') return /^(audio|video)\/[\w.+-]+$/.test(declared) ? declared : null;
  if (known !== null) return known;
  return declared === 'application/json' || declared.startsWith('text/') ? 'text/plain' : null;
}

function refuse({ kind, param }: MediaUrl, why: string): Failure {
  const message = `The ${kinds[kind].word} of '${param}' could not be fetched: ${why}. Send its content inline instead.`;
  return invalid(param, message);
}

/** One request's media: fetched once, however many attempts and choices need them. */
export interface RequestMedia {
  get(needed: readonly MediaUrl[]): Promise<FetchedMedia | Failure>;
}

/**
 * `leftMs`: the time that the request has left. `onDisconnect` gets a function that gives up when nobody waits any more. A
 * fetched or refused URL stays so for the request.
 */
export function createRequestMedia(
  fetcher: MediaFetcher,
  request: { leftMs(): number; onDisconnect(giveUp: () => void): void },
): RequestMedia {
  let fetching: Promise<FetchedMedia | Failure> | null = null;
  return {
    get(needed) {
      if (fetching === null) {
        const leaving = new AbortController();
        request.onDisconnect(() => leaving.abort());
        fetching = fetcher.fetch(needed, Math.max(0, request.leftMs()), leaving.signal);
      }
      return fetching;
    },
  };
}

/** For explanations: fetches nothing, and reports what it would fetch. */
export const nothingFetched: RequestMedia = {
  async get([first]) {
    const param = first?.param ?? 'messages';
    return invalid(param, `'${param}' would first be fetched from its URL, and then sent inline.`);
  },
};
