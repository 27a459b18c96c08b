import type { Principal } from '../../../books/auth/principal.ts';
import { mediaTypeOf } from '../../../formats/neutral/media-type.ts';
import type { MediaUrl } from '../../../formats/neutral/media-urls.ts';
import { type Failure, failureIn, invalid, isFailure } from '../../../kernel/failure.ts';
import type { Room, RoomHold } from '../../../kernel/sharing/room.ts';
import { createTurns } from '../../../kernel/sharing/turns.ts';
import { createFetchGuard, type FetchGuard, type FetchRules, type ResolveAddresses } from '../../../net/fetch-guard.ts';
import { type Fetched, guardedFetch } from '../../../net/guarded-fetch.ts';
import { type FetchedBytes, InlineMedia } from './inline-media.ts';

/** Fetches what callers name by URL, for targets that take it inline only. */
export type MediaFetcher = ReturnType<typeof createMediaFetcher>;

/** Whose turn it takes, and the room that what came takes. */
export interface MediaOwner {
  tenant: string;
  held: RoomHold;
}

/** Most different URLs of one request. */
const urlsMax = 32;
/** Most bytes of one request, all together, as many as Google accepts inline. */
const bytesMax = 20 * 1024 * 1024;
const atOnceMax = 4;
const base64Growth = 4 / 3;
/** Requests that fetch at once. */
const runningMax = 64;
const timeoutMaxMs = 15_000;

/** `rules` are those in force. Every hop calls `resolve` again. */
export function createMediaFetcher(parts: { rules: () => FetchRules; resolve: ResolveAddresses }) {
  const running = createTurns({ name: 'Pictures to fetch', places: runningMax, waitingMax: 0, tenantWaitingMax: 0 });
  return {
    /** All of it or the first failure: a 400 that names the part, or a 503. `timeoutMs` is for all together. */
    async fetch(
      needed: readonly MediaUrl[],
      { tenant, held }: MediaOwner,
      timeoutMs: number,
      signal: AbortSignal,
    ): Promise<FetchedBytes | Failure> {
      const different = [...new Map(needed.map((one) => [one.url, one])).values()];
      const last = different[urlsMax];
      if (last !== undefined) return refuse(last, `a request may name at most ${urlsMax} by URL`);
      const guard = createFetchGuard(parts.rules(), parts.resolve);
      const order = { guard, held, timeoutMs: Math.min(timeoutMs, timeoutMaxMs), signal };
      return running.run(tenant, null, () => fetchAll(different, order)).catch(failureIn);
    },
  };
}

async function fetchAll(
  needed: readonly MediaUrl[],
  { guard, held, timeoutMs, signal }: { guard: FetchGuard; held: RoomHold; timeoutMs: number; signal: AbortSignal },
): Promise<FetchedBytes | Failure> {
  const stop = new AbortController();
  const all = AbortSignal.any([signal, stop.signal]);
  const media: Record<string, FetchedBytes[string]> = Object.create(null);
  const queue = [...needed];
  let bytesLeft = bytesMax;
  let failure: Failure | null = null;

  const work = async () => {
    for (let one = queue.shift(); one !== undefined && failure === null; one = queue.shift()) {
      const medium = one;
      const take = (bytes: number) => {
        bytesLeft -= bytes;
        if (bytesLeft < 0) failure ??= refuse(medium, `it and the others are larger than ${bytesMax} bytes`);
        else failure ??= held.take(Math.ceil(bytes * base64Growth));
        return failure === null;
      };
      const options = { guard, bytesMax, take, timeoutMs, accept: kinds[one.kind].accept, signal: all };
      const read = readFetched(one, await guardedFetch(one.url, options));
      if (isFailure(read)) failure ??= read;
      else media[one.url] = read;
      if (failure !== null) stop.abort();
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, needed.length) }, work));
  return failure ?? media;
}

/** The types to accept of each kind, and its word in messages. */
const kinds = {
  image: { accept: 'image/*', word: 'picture' },
  audio: { accept: 'audio/*', word: 'sound' },
  video: { accept: 'video/*', word: 'video' },
  document: { accept: 'application/pdf, text/*;q=0.9, application/json;q=0.8', word: 'file' },
} as const satisfies Record<MediaUrl['kind'], { accept: string; word: string }>;

function readFetched(medium: MediaUrl, fetched: Fetched): FetchedBytes[string] | Failure {
  if (!fetched.ok) return refuse(medium, fetched.message);
  if (fetched.status < 200 || fetched.status >= 300) return refuse(medium, `its server answered ${fetched.status}`);
  const mediaType = typeFor(medium.kind, fetched.body, fetched.contentType);
  if (mediaType === null) return refuse(medium, `its content is not a ${kinds[medium.kind].word}`);
  return { mediaType, bytes: fetched.body };
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
  get(needed: readonly MediaUrl[]): Promise<InlineMedia | Failure>;
}

export interface MediaRequest {
  principal: Pick<Principal, 'account' | 'tenant'>;
  /** The time that it has left. */
  leftMs(): number;
  /** Gets a function that gives up when nobody waits any more. */
  onDisconnect(giveUp: () => void): void;
  /** Gets a function that gives back the room of what came, once nothing of the request needs it. */
  atEnd(giveBack: () => void): void;
}

/** A fetched or refused URL stays so for the request. `room` is that for the bodies of all callers. */
export function createRequestMedia(fetcher: MediaFetcher, room: Room, request: MediaRequest): RequestMedia {
  let fetching: Promise<InlineMedia | Failure> | null = null;
  return {
    get(needed) {
      if (fetching === null) {
        const leaving = new AbortController();
        request.onDisconnect(() => leaving.abort());
        const { account, tenant } = request.principal;
        const held = room.hold(account);
        request.atEnd(() => held.giveBack());
        const owner = { tenant, held };
        fetching = fetcher
          .fetch(needed, owner, Math.max(0, request.leftMs()), leaving.signal)
          .then((fetched) => (isFailure(fetched) ? fetched : new InlineMedia(fetched)));
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
