import type { ProxyPass } from '../../net/proxy-pass.ts';
import type { Rendered } from '../page-renderer.ts';

/** A failed load of the main document. `error`: Chromium's word, somewhere in a text. */
export interface FailedLoad {
  url: string;
  error: string;
}

const schemeRefused = /ERR_(?:UNSAFE_REDIRECT|UNKNOWN_URL_SCHEME|DISALLOWED_URL_SCHEME|UNSAFE_PORT|INVALID_URL)/;
const certificateRefused = /ERR_(?:CERT_|SSL_)/;

/** The reason of a failed load: the guard's refusal of the place comes before Chromium's error. */
export function refusalOf({ url, error }: FailedLoad, pass: ProxyPass): Rendered & { ok: false } {
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
  if (/Timeout|ERR_TIMED_OUT/.test(error)) {
    return { ok: false, reason: 'timeout', message: 'its server took too long' };
  }
  if (/ERR_CONTENT_DECODING_FAILED|ERR_INVALID_(?:CHUNKED_ENCODING|HTTP_RESPONSE)|ERR_INCOMPLETE/.test(error)) {
    return { ok: false, reason: 'broken', message: 'its answer broke off or cannot be decompressed' };
  }
  return certificateRefused.test(error)
    ? { ok: false, reason: 'unreachable', message: 'its certificate is not valid, or its TLS is not supported' }
    : { ok: false, reason: 'unreachable', message: 'its server could not be reached or broke the connection' };
}
