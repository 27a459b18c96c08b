import type { Config } from './schema.ts';

/** Stands where a secret was. */
export const secretMark = '(secret)';

/** Keys that hold a secret wherever they stand, the fields of a target's `body` aside. */
export const secretKeys: ReadonlySet<string> = new Set([
  'key',
  'api_key',
  'secret',
  'client_secret',
  'secret_access_key',
  'session_token',
  'earlier_secrets',
]);
/** URLs in which a user name, a password or a token may stand. */
const urlKeys: ReadonlySet<string> = new Set([
  'database',
  'state',
  'webhook',
  'slack',
  'url',
  'base_url',
  'public_url',
  'proxy',
]);

/**
 * The effective configuration for people: the same shape, secrets replaced by `(secret)`. Values of headers, of
 * `env` and of `body` are secret as a whole, since anything may be in them; URLs lose user, password and query, a webhook its path.
 */
export function redact(config: Config): unknown {
  return redactPart(config);
}

/** The same for a part of a configuration, such as one plan. */
export function redactPart(part: object): unknown {
  return redactValue(part, '');
}

function redactValue(value: unknown, key: string): unknown {
  if (value === undefined || value === null) return value;
  if ((key === 'headers' || key === 'env' || key === 'body') && typeof value === 'object') {
    return Object.fromEntries(Object.keys(value).map((name) => [name, secretMark]));
  }
  if (Array.isArray(value)) return value.map((item) => redactValue(item, secretKeys.has(key) ? key : ''));
  if (typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, redactValue(child, name)]));
  }
  if (typeof value !== 'string') return value;
  if (secretKeys.has(key)) return secretMark;
  return urlKeys.has(key) ? redactUrl(value, key) : value;
}

/** Whether the value of this key is an address that may hold a secret. */
export function holdsSecret(key: string, value: string): boolean {
  if (!urlKeys.has(key) || !URL.canParse(value)) return false;
  const { username, password, search } = new URL(value);
  return pathIsSecret(key) || [username, password, search].some((part) => part !== '');
}

/** Chat services put the token of an incoming webhook into its path. */
function pathIsSecret(key: string): boolean {
  return key === 'webhook' || key === 'slack';
}

function redactUrl(text: string, key: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.username !== '') url.username = 'user';
  if (url.password !== '') url.password = 'secret';
  if (url.search !== '') url.search = '?secret';
  if (pathIsSecret(key)) url.pathname = '/secret';
  return url.href;
}
