import type { Authorizer } from '../../upstream/transport/upstream-call.ts';
import type { Provider, ProviderAuth } from './provider.ts';

/**
 * True for a value that may be in a header as it is: 1–8,192 characters of visible ASCII, space and tab. CR, LF, NUL
 * and everything above ASCII are refused, so no value can begin another header (S23).
 */
export function printable(value: string): boolean {
  const { length } = value;
  if (length === 0 || length > headerValueCharsMax) return false;
  for (let i = 0; i < length; i++) {
    const code = value.charCodeAt(i);
    if ((code < 0x20 && code !== 0x09) || code > 0x7e) return false;
  }
  return true;
}

const headerValueCharsMax = 8_192;

/** Flat header lists (name, value, name, value…). They hold the secret: never logged, never in an error. */
export interface CredentialHeaders {
  /** For an answer in one piece and for a stream; they differ in `accept`. */
  whole: readonly string[];
  stream: readonly string[];
  /** For GET: no content-type. */
  get: readonly string[];
  /** Adds what proves who asks, where that is no header of a fixed value. */
  authorize?: Authorizer | undefined;
}

/** They belong to the connection itself: an operator's value would break framing or send a body to another host. */
const transportHeaders = new Set(
  `host connection content-length content-type transfer-encoding te trailer upgrade
  expect keep-alive proxy-authorization proxy-connection`.split(/\s+/),
);

type OperatorHeaders = { ok: true; headers: Map<string, string> } | { ok: false; message: string };

/** The operator's extra headers, by their names in small letters; refused: what no header can carry, or may be set. */
export function readOperatorHeaders(headers: Readonly<Record<string, string>>): OperatorHeaders {
  const read = new Map<string, string>();
  for (const [rawName, rawValue] of Object.entries(headers)) {
    const name = rawName.toLowerCase();
    const value = rawValue.trim();
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name)) return { ok: false, message: 'a header name is not valid' };
    if (transportHeaders.has(name)) return { ok: false, message: `header ${name} cannot be set` };
    if (!printable(value)) return { ok: false, message: `header ${name} has characters that HTTP cannot hold` };
    read.set(name, value);
  }
  return { ok: true, headers: read };
}

/** Names of headers that hold a secret. */
export const secretHeader = /auth|key|token|secret|cookie|credential/;
const publicHeader = /^(anthropic-(beta|version)|openai-beta|(http-)?referer|user-agent|x-title|accept.*)$/;
/** A long word without spaces may be a secret whatever its header is called. A shorter one may be a word of any text. */
const secretCharsMin = 16;

/** Whether the operator's header may hold a secret. */
export function mayBeSecretHeader(name: string, value: string): boolean {
  if (secretHeader.test(name)) return true;
  return value.length >= secretCharsMin && !publicHeader.test(name) && !/\s|:\/\//.test(value);
}

/** Headers that all calls with this secret share; null for a service without keys. The operator's headers take precedence. */
export function joinHeaders(
  provider: Provider,
  secret: string | null,
  operator: ReadonlyMap<string, string>,
): CredentialHeaders {
  const shared = new Map<string, string>([
    // Some services answer 403 to a request without a User-Agent.
    ['user-agent', 'culvert'],
    ...Object.entries(provider.headers),
  ]);
  if (secret !== null) {
    const auth = authHeader(provider.auth, secret);
    if (auth !== null) shared.set(auth[0], auth[1]);
  }
  for (const [name, value] of operator) shared.set(name, value);
  const flat = [...shared].flat();
  return {
    whole: ['content-type', 'application/json', 'accept', 'application/json', ...flat],
    stream: ['content-type', 'application/json', 'accept', provider.streamType ?? 'text/event-stream', ...flat],
    get: ['accept', 'application/json', ...flat],
  };
}

function authHeader(auth: ProviderAuth, secret: string): [string, string] | null {
  switch (auth) {
    case 'bearer':
      return ['authorization', `Bearer ${secret}`];
    case 'token':
      return ['authorization', `Token ${secret}`];
    case 'key':
      return ['authorization', `Key ${secret}`];
    case 'authorization':
    case 'x-key':
    case 'x-api-key':
    case 'api-key':
    case 'x-goog-api-key':
    case 'xi-api-key':
      return [auth, secret];
    // Its header is a token, which the authorizer gets for the key.
    case 'ibm-iam':
    case 'none':
      return null;
  }
}
