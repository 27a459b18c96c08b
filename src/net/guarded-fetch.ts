import type { IncomingMessage, RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import zlib from 'node:zlib';
import { headerText } from '../kernel/web/header-text.ts';
import { request as httpRequest } from '../kernel/web/node-http.ts';
import { checkedLookup } from './checked-lookup.ts';
import { type Address, type FetchGuard, portOf } from './fetch-guard.ts';
import { createRedirectCookies } from './redirect-cookies.ts';

export interface GuardedFetchOptions {
  guard: FetchGuard;
  /** Largest size of the decompressed body. It may depend on the content type of the answer ('' when there is none). */
  bytesMax: number | ((contentType: string) => number);
  /** Result above `bytesMax`: `too-large`, or the part that came until then. Default: refuse. */
  whenTooLarge?: 'refuse' | 'cut';
  /** Gets the size of each piece of the decompressed body as it comes; false: there is no room for more (`too-large`). */
  take?: (bytes: number) => boolean;
  /** For everything: names, connections, redirects, the body. */
  timeoutMs: number;
  /** The `accept` header. */
  accept: string;
  /** Default: `culvert`. */
  userAgent?: string;
  /** Further headers, lower-case; those that carry credentials go to the first origin alone. */
  headers?: Readonly<Record<string, string>>;
  /** Returned as 304, without a body, when the server says that the copy is still valid. */
  known?: KnownCopy | null;
  /** Asked before each redirect is followed; default: wherever it leads. */
  mayFollow?: ((url: URL) => Promise<boolean>) | null;
  /**
   * Address to which a page leads its reader at once, read from a body with a status of 2xx; null: the page is meant to
   * be read. It is followed as a redirect is, unless that may not be: then the page itself is the result.
   */
  leadsTo?: ((page: { url: URL; contentType: string; body: Buffer }) => Promise<URL | null>) | null;
  /** Gives up at any moment. */
  signal?: AbortSignal;
}

/** Validators of an answer for the next request: `if-none-match`, `if-modified-since`. */
export interface Validators {
  etag: string | null;
  lastModified: string | null;
}

/** Validators of an earlier copy. */
export interface KnownCopy extends Validators {
  /** Where redirects ended. Other addresses do not get its validators, which mean nothing there. */
  url: string;
}

export type Fetched =
  | ({
      ok: true;
      status: number;
      url: string;
      contentType: string;
      body: Buffer;
      /** The body is the beginning of a larger one. */
      cut: boolean;
    } & Validators)
  | {
      ok: false;
      reason: FetchRefusal;
      message: string;
      /** The guard refuses the address itself, before any redirect. */
      isFirst?: true;
    };

/** `blocked` is the guard's; the rest is the place's own doing. Messages name no address. */
export type FetchRefusal = 'blocked' | 'unreachable' | 'timeout' | 'too-large' | 'redirects' | 'broken' | 'aborted';

const redirectsMax = 5;
/** Some sites send 20 KB of policies for their scripts. */
export const headerBytesMax = 64 * 1024;
const urlCharsMax = 8_192;
/** Never sent to the target of a redirect. */
const credentialHeaders = new Set(['authorization', 'cookie', 'referer']);

/**
 * GET of a URL that a caller gave: the one way to such places (design §17). Each hop is checked and connected to the
 * checked address alone; redirects are followed by hand, at most 5. Never rejects; an answer of any status is `ok`.
 */
export async function guardedFetch(text: string, options: GuardedFetchOptions): Promise<Fetched> {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort('timeout'), options.timeoutMs);
  const leave = () => ending.abort('aborted');
  options.signal?.addEventListener('abort', leave, { once: true });
  if (options.signal?.aborted) leave();
  try {
    return await follow(text, options, ending.signal);
  } catch (error) {
    if (error instanceof Refused) {
      const { reason, message, isFirst } = error;
      return { ok: false, reason, message, ...(isFirst && { isFirst }) };
    }
    if (ending.signal.aborted) return ended(ending.signal);
    return { ok: false, reason: 'unreachable', message: 'its server could not be reached or broke the connection' };
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener('abort', leave);
  }
}

class Refused extends Error {
  readonly reason: FetchRefusal;
  readonly isFirst: boolean;
  constructor(reason: FetchRefusal, message: string, isFirst = false) {
    super(message);
    this.reason = reason;
    this.isFirst = isFirst;
  }
}

function ended(signal: AbortSignal): Fetched {
  return signal.reason === 'timeout'
    ? { ok: false, reason: 'timeout', message: 'its server took too long' }
    : { ok: false, reason: 'aborted', message: 'the caller no longer waits for it' };
}

async function follow(text: string, options: GuardedFetchOptions, signal: AbortSignal): Promise<Fetched> {
  let url = parsed(text, undefined);
  const { origin } = url;
  const cookies = createRedirectCookies();
  const mayFollow = async (to: URL) => options.mayFollow == null || (await beforeEnd(options.mayFollow(to), signal));
  for (let redirects = 0; ; redirects++) {
    const verdict = await beforeEnd(options.guard.check(url), signal);
    if (!verdict.ok) {
      const reason = verdict.reason === 'blocked' ? 'blocked' : 'unreachable';
      throw new Refused(reason, verdict.message, redirects === 0);
    }
    const headers: Record<string, string> = {
      ...headersFor(url.origin === origin ? 'first' : 'another', options),
      ...conditionsFor(url, options.known),
    };
    const cookie = cookies.headerFor(url, headers.cookie);
    if (cookie !== null) headers.cookie = cookie;
    const response = await answerFrom(url, verdict.addresses, { method: 'GET', headers }, options.guard, signal);
    const status = response.statusCode ?? 0;
    await cookies.take(url, response.headers['set-cookie'] ?? []);
    const { location } = response.headers;
    if (!redirectStatuses.has(status) || location === undefined) {
      const { 'content-type': contentType = '', etag = null, 'last-modified': lastModified = null } = response.headers;
      const { body, cut } = await bodyOf(response, options, signal);
      const next =
        status < 200 || status > 299 ? null : ((await options.leadsTo?.({ url, contentType, body })) ?? null);
      if (next !== null && redirects < redirectsMax && (await mayFollow(next))) {
        url = next;
        continue;
      }
      return { ok: true, status, url: url.href, contentType, body, cut, etag, lastModified };
    }
    response.destroy();
    if (redirects >= redirectsMax) throw new Refused('redirects', `it redirects more than ${redirectsMax} times`);
    // Sites that do not escape their paths write UTF-8, and browsers read that.
    url = parsed(headerText(location), url);
    if (!(await mayFollow(url))) throw new Refused('redirects', 'it redirects to an address that may not be followed');
  }
}

const redirectStatuses = new Set([301, 302, 303, 307, 308]);

function parsed(text: string, base: URL | undefined): URL {
  const url = text.length > urlCharsMax ? null : URL.parse(text, base?.href);
  if (url === null) throw new Refused('blocked', 'it is not a URL');
  return url;
}

/** A name server that hangs must not hold us longer than the rest. */
function beforeEnd<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Error('ended'));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function headersFor(
  origin: 'first' | 'another',
  { accept, userAgent = 'culvert', headers = {} }: GuardedFetchOptions,
): Record<string, string> {
  const further = Object.entries(headers).filter(([name]) => origin === 'first' || !credentialHeaders.has(name));
  return { 'user-agent': userAgent, accept, ...Object.fromEntries(further), 'accept-encoding': acceptedEncodings };
}

function conditionsFor({ href }: URL, known: KnownCopy | null | undefined): Record<string, string> {
  if (known == null || known.url !== href) return {};
  return {
    ...(known.etag !== null && { 'if-none-match': known.etag }),
    ...(known.lastModified !== null && { 'if-modified-since': known.lastModified }),
  };
}

/** Connects to one of the checked addresses alone, and resolves with the response's head; its body has not been read. */
export function answerFrom(
  url: URL,
  addresses: readonly Address[],
  { method, headers, body }: { method: 'GET' | 'POST'; headers: Readonly<Record<string, string>>; body?: Buffer },
  guard: FetchGuard,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const options: RequestOptions = {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: portOf(url),
    path: url.pathname + url.search,
    method,
    // A new socket: one that is kept could have been connected for another check.
    agent: false,
    signal,
    maxHeaderSize: headerBytesMax,
    headers: { ...headers, host: url.host },
    lookup: checkedLookup(addresses),
  };
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(options, resolve);
    request.on('error', reject);
    // An unrequested 101 ends it with neither answer nor error.
    request.on('close', () => reject(new Error('the connection was closed without an answer')));
    request.on('socket', (socket) => {
      socket.once('connect', () => {
        const { remoteAddress } = socket;
        if (remoteAddress !== undefined && guard.allows(url, remoteAddress)) return;
        request.destroy(new Refused('blocked', 'its address is not on the public Internet'));
      });
    });
    request.end(body);
  });
}

async function bodyOf(
  response: IncomingMessage,
  { bytesMax: bound, whenTooLarge = 'refuse', take = () => true }: GuardedFetchOptions,
  signal: AbortSignal,
): Promise<{ body: Buffer; cut: boolean }> {
  const bytesMax = typeof bound === 'number' ? bound : bound(response.headers['content-type'] ?? '');
  const tooLarge = () => new Refused('too-large', `it is larger than ${bytesMax} bytes`);
  const stream = unpacked(response, response.headers['content-encoding']);
  const refuses = whenTooLarge === 'refuse';
  try {
    if (stream === null) throw new Refused('broken', 'it uses a Content-Encoding that was not asked for');
    const promisedBytes = Number(response.headers['content-length']);
    if (refuses && stream === response && promisedBytes > bytesMax) throw tooLarge();
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (!take(chunk.length)) throw new Refused('too-large', 'there is no room for it');
      if (bytes <= bytesMax) chunks.push(chunk);
      else if (refuses) throw tooLarge();
      else {
        chunks.push(chunk.subarray(0, chunk.length - (bytes - bytesMax)));
        return { body: Buffer.concat(chunks, bytesMax), cut: true };
      }
    }
    return { body: Buffer.concat(chunks, bytes), cut: false };
  } catch (error) {
    if (error instanceof Refused || signal.aborted) throw error;
    throw new Refused('broken', 'its answer broke off or cannot be decompressed');
  } finally {
    stream?.destroy();
    response.destroy();
  }
}

/** Content codings of an answer, requested by `accept-encoding`. Not deflate: some servers send it without its header. */
const acceptedEncodings = 'gzip, br';

/** A stream of the decompressed bytes; null: a coding that nobody asked for. Errors of `body` reach the result. */
function unpacked(body: Readable, encoding: string | undefined): Readable | null {
  const packing = encoding?.trim().toLowerCase() ?? '';
  if (packing === '' || packing === 'identity') return body;
  const unpacker = unpackers.get(packing)?.();
  if (unpacker === undefined) return null;
  body.on('error', (error) => unpacker.destroy(error));
  return body.pipe(unpacker);
}

/** By the name of a coding. Sites also send what was not asked for. */
const unpackers = new Map([
  ['gzip', zlib.createGunzip],
  ['x-gzip', zlib.createGunzip],
  ['deflate', zlib.createInflate],
  ['br', zlib.createBrotliDecompress],
]);
