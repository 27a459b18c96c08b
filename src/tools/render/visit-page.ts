import { setTimeout as pause } from 'node:timers/promises';
import type { BrowserContext, CDPSession, Page, Request, Response } from 'playwright-core';
import type { ProxyPass } from '../../net/proxy-pass.ts';
import type { Rendered, RenderOrder, ScreenshotOptions } from '../page-renderer.ts';
import { holdRequests, type MayFollow } from './hold-requests.ts';
import { readDocument } from './read-document.ts';

export interface Visit {
  /** Fresh, and through the pass; its creator closes it. */
  context: BrowserContext;
  pass: ProxyPass;
  order: Omit<RenderOrder, 'tenant' | 'mayFollow' | 'signal'>;
  mayFollow: MayFollow | null;
  signal: AbortSignal;
  leftMs(): number;
}

/** The same as in `guardedFetch`. */
const redirectsMax = 5;
/** Longest wait for quiet after the page has come: scripts may fetch for ever. */
const quietMaxMs = 5_000;
/** Time kept back for reading the loaded page. */
const readingMs = 1_500;

/** One page, from its address to its document. May hang when the page does: the caller has a clock. */
export async function visitPage({ context, pass, order, mayFollow, signal, leftMs }: Visit): Promise<Rendered> {
  const page = await context.newPage();
  context.on('page', (other) => void other.close().catch(() => undefined));
  const session = await context.newCDPSession(page);
  const { 'user-agent': _, ...headers } = order.headers;
  const main = watchMain(page);
  const onRefused = () => {
    main.refused = true;
  };
  await holdRequests(session, { url: order.url, headers, mayFollow, onRefused });

  const workMs = () => Math.max(1, leftMs() - Math.min(readingMs, order.timeoutMs / 4));
  try {
    await page.goto(order.url, { waitUntil: 'commit', timeout: leftMs() });
  } catch (error) {
    if (main.refused) return notFollowed;
    const status = main.response?.status() ?? 0;
    // Chromium shows its own page in place of an answer without a body.
    const bare = main.failed === null || /ERR_HTTP_RESPONSE_CODE_FAILURE|ERR_ABORTED/.test(main.failed.error);
    if (bare && (status >= 400 || status === 204 || status === 205)) return emptyPage(main.response!);
    return refusalOf(main.failed ?? { url: order.url, error: String(error) }, pass);
  }
  const warnings: string[] = [];
  if (!isHtml(main.response)) return { ok: false, reason: 'no-html', message: 'it is not HTML' };
  if (hopsOf(main.response) > redirectsMax) return tooManyRedirects;
  try {
    await page.waitForLoadState('domcontentloaded', { timeout: workMs() });
    await page.waitForLoadState('networkidle', { timeout: Math.min(quietMaxMs, workMs()) }).catch(() => undefined);
  } catch {
    warnings.push('The page had not loaded completely when its time was over.');
  }
  if (order.waitForMs > 0) await pause(Math.min(order.waitForMs, workMs()), undefined, { signal });
  return read(page, session, { pass, order, leftMs, main, warnings });
}

interface Main {
  /** Answer to the last navigation of the main frame that had one. */
  response: Response | null;
  failed: FailedLoad | null;
  /** It was not let go where it leads. */
  refused: boolean;
}

function watchMain(page: Page): Main {
  const main: Main = { response: null, failed: null, refused: false };
  const isMain = (request: Request) => {
    try {
      return request.isNavigationRequest() && request.frame() === page.mainFrame();
    } catch {
      // Asked before its frame was there: no frame of ours. Thrown in a listener it would end the process.
      return false;
    }
  };
  page.on('response', (response) => {
    if (isMain(response.request())) main.response = response;
  });
  page.on('requestfailed', (request) => {
    if (isMain(request)) main.failed = { url: request.url(), error: request.failure()?.errorText ?? '' };
  });
  return main;
}

interface Reading extends Pick<Visit, 'pass' | 'order' | 'leftMs'> {
  main: Main;
  warnings: string[];
}

async function read(page: Page, session: CDPSession, reading: Reading): Promise<Rendered> {
  const { pass, order, leftMs, main, warnings } = reading;
  const document = await readDocument(session, order.bytesMax);
  if (main.refused) return notFollowed;
  // Scripts may lead elsewhere as redirects do: to an address that the guard refuses, or that is not a page of the web.
  if (!/^https?:/.test(document.url)) {
    const failed = document.url.startsWith('chrome-error:') ? main.failed : null;
    return refusalOf(failed ?? { url: document.url, error: 'ERR_DISALLOWED_URL_SCHEME' }, pass);
  }
  const spent = pass.ended();
  if (spent === 'bytes')
    warnings.push('The page asked for more bytes than it may. The answer has what had come until then.');
  if (spent === 'requests')
    warnings.push('The page sent more requests than it may. The answer has what had come until then.');
  let screenshot: Buffer | null = null;
  if (order.screenshot !== null) {
    const taken = await takeScreenshot(page, document, order.screenshot, leftMs());
    if ('picture' in taken) screenshot = taken.picture;
    if (taken.warning !== null) warnings.push(taken.warning);
  }
  const whole = Buffer.from(document.html);
  return {
    ok: true,
    status: main.response?.status() ?? 200,
    url: document.url,
    body: whole.subarray(0, order.bytesMax),
    cut: document.cut || whole.length > order.bytesMax,
    screenshot,
    warnings,
  };
}

function emptyPage(response: Response): Rendered {
  const page = { body: Buffer.alloc(0), cut: false, screenshot: null, warnings: [] };
  return { ok: true, status: response.status(), url: response.url(), ...page };
}

const tooManyRedirects = {
  ok: false,
  reason: 'redirects',
  message: `it redirects more than ${redirectsMax} times`,
} as const;

const notFollowed = {
  ok: false,
  reason: 'redirects',
  message: 'it redirects to an address that may not be followed',
} as const;

function hopsOf(response: Response | null): number {
  let hops = 0;
  for (let at = response?.request().redirectedFrom() ?? null; at !== null; at = at.redirectedFrom()) hops += 1;
  return hops;
}

/** Chromium looks at content without a type. It is HTML if it comes out as a document. */
function isHtml(response: Response | null): boolean {
  const type = (response?.headers()['content-type'] ?? '').replace(/;.*/s, '').trim().toLowerCase();
  return type === '' || type === 'text/html' || type === 'application/xhtml+xml';
}

/** CSS pixels of a whole page; longer ones are cut there. */
const heightMax = 10_000;
const widthMax = 4_000;
const pictureBytesMax = 5 * 1024 * 1024;

type Taken = { picture: Buffer; warning: string | null } | { warning: string };

/** PNG. Never rejects: a page without its picture is still a page. */
async function takeScreenshot(
  page: Page,
  size: { width: number; height: number },
  { fullPage }: ScreenshotOptions,
  timeoutMs: number,
): Promise<Taken> {
  const window = page.viewportSize() ?? { width: 0, height: 0 };
  const whole = {
    x: 0,
    y: 0,
    width: Math.min(widthMax, Math.max(window.width, size.width)),
    height: Math.min(heightMax, Math.max(window.height, size.height)),
  };
  try {
    const clip = fullPage ? { clip: whole } : {};
    const picture = await page.screenshot({ type: 'png', fullPage, ...clip, timeout: timeoutMs });
    if (picture.length > pictureBytesMax) {
      return { warning: `The screenshot is larger than ${pictureBytesMax} bytes, so it is left out.` };
    }
    const cut = fullPage && size.height > heightMax;
    return { picture, warning: cut ? `The screenshot was cut after ${heightMax} pixels.` : null };
  } catch {
    return { warning: 'No screenshot could be taken of the page.' };
  }
}

/** A failed load of the main document. `error`: Chromium's word, somewhere in a text. */
interface FailedLoad {
  url: string;
  error: string;
}

const schemeRefused = /ERR_(?:UNSAFE_REDIRECT|UNKNOWN_URL_SCHEME|DISALLOWED_URL_SCHEME|UNSAFE_PORT|INVALID_URL)/;
const certificateRefused = /ERR_(?:CERT_|SSL_)/;

/** The reason of a failed load: the guard's refusal of the place comes before Chromium's error. */
function refusalOf({ url, error }: FailedLoad, pass: ProxyPass): Rendered & { ok: false } {
  const place = URL.parse(url);
  const guarded = place === null ? undefined : pass.refusalAt(place);
  if (guarded !== undefined) {
    return { ok: false, reason: guarded.reason === 'blocked' ? 'blocked' : 'unreachable', message: guarded.message };
  }
  if (schemeRefused.test(error)) {
    return {
      ok: false,
      reason: 'blocked',
      message: 'it redirects to an address that is not http or https, or to a blocked port',
    };
  }
  if (/ERR_TOO_MANY_REDIRECTS/.test(error)) {
    return { ok: false, reason: 'redirects', message: 'it redirects without end' };
  }
  if (/Download is starting|ERR_ABORTED/.test(error)) {
    return { ok: false, reason: 'no-html', message: 'it is a download, not a page' };
  }
  const spent = pass.ended();
  if (spent === 'bytes' || spent === 'requests') {
    return { ok: false, reason: 'too-large', message: 'it asks for more than a page may' };
  }
  if (/Timeout|ERR_TIMED_OUT/.test(error)) return { ok: false, reason: 'timeout', message: 'its server took too long' };
  if (/ERR_CONTENT_DECODING_FAILED|ERR_INVALID_(?:CHUNKED_ENCODING|HTTP_RESPONSE)|ERR_INCOMPLETE/.test(error)) {
    return { ok: false, reason: 'broken', message: 'its answer broke off or cannot be decompressed' };
  }
  return certificateRefused.test(error)
    ? { ok: false, reason: 'unreachable', message: 'its certificate is not valid, or its TLS is not supported' }
    : { ok: false, reason: 'unreachable', message: 'its server could not be reached or broke the connection' };
}
