import { urlOfHosts, urlsOfHosts } from '../kernel/web/urls-of-hosts.ts';
import { type MarkedMember, markedMembers } from './marked-members.ts';
import { type Config, configSchema } from './schema.ts';

/** Replaces a secret. */
export const secretMark = '(secret)';

/** Names of members by what the schema says of them, at any depth. */
interface MarkedNames {
  secrets: ReadonlySet<string>;
  /** Every value in them is secret. */
  records: ReadonlySet<string>;
  /** Members of `records` in which anything may be a secret, also in a list. */
  bodies: ReadonlySet<string>;
  /** URLs in which a user name, a password or a token is allowed. */
  urls: ReadonlySet<string>;
  /** Paths of secrets among them. */
  secretPaths: ReadonlySet<string>;
}

let names: MarkedNames | undefined;

/** Read from the schema at the first use: a start without it is faster. */
function marked(): MarkedNames {
  if (names !== undefined) return names;
  const members = markedMembers(configSchema);
  const named = (fits: (member: MarkedMember) => boolean) =>
    new Set(members.filter(fits).flatMap(({ path }) => path.filter((step) => step !== '[]' && step !== '*').slice(-1)));
  names = {
    secrets: named(({ mark, path }) => mark === 'secret' && path.at(-1) !== '*'),
    records: named(
      ({ mark, path }) => mark === 'headers' || mark === 'body' || (mark === 'secret' && path.at(-1) === '*'),
    ),
    bodies: named(({ mark }) => mark === 'body'),
    urls: named(({ mark }) => mark === 'address'),
    secretPaths: named(({ schema }) => schema.secret_path === true),
  };
  return names;
}

/**
 * The effective configuration for people: the same shape, secrets replaced by `(secret)`. Values of headers, of
 * `env` and of `body` are secret as a whole, since anything may be in them; URLs lose user, password and query, and those
 * of webhooks (notices, alerts, sinks, hooks, guards, keys) their path.
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
  const { secrets, records, bodies, urls } = marked();
  // A list of `headers` or of `env` holds names.
  if (records.has(key) && typeof value === 'object' && (!Array.isArray(value) || bodies.has(key))) {
    return Object.fromEntries(Object.keys(value).map((name) => [name, secretMark]));
  }
  if (Array.isArray(value)) return value.map((item) => redactValue(item, secrets.has(key) ? key : ''));
  if (typeof value === 'object') {
    const shown = Object.entries(value).map(([name, child]) => [name, redactValue(child, name)]);
    const hidden = isWebhook(value, key) ? [['url', redactUrl(value.url, { hidesPath: true })]] : [];
    return Object.fromEntries([...shown, ...hidden]);
  }
  if (typeof value !== 'string') return value;
  if (secrets.has(key)) return secretMark;
  return urls.has(key) ? redactUrl(value, { hidesPath: marked().secretPaths.has(key) }) : value;
}

/** Whether an object is a hook or a guard that is a webhook, or the webhook of keys: its path may be a secret. */
function isWebhook(value: object, key: string): value is { url: string } {
  const { url, type, check } = value as { url?: unknown; type?: unknown; check?: unknown };
  return typeof url === 'string' && (key === 'webhook' || type === 'webhook' || check === 'webhook');
}

/** Whether `shown` is what people see in the place of this address of a webhook. */
export function isShownWebhook(shown: string, url: string): boolean {
  return shown !== url && URL.canParse(url) && shown === redactUrl(url, { hidesPath: true });
}

/**
 * Whether a value at this path of a configuration may be a secret: a secret by the schema, anything in headers, `env`
 * and a `body` at any depth, an address that holds a password or a token. `path`: names alone, without places in lists.
 */
export function mayBeSecret(path: readonly string[], value: string): boolean {
  const { secrets, records } = marked();
  const key = path.at(-1) ?? '';
  return secrets.has(key) || path.slice(0, -1).some((name) => records.has(name)) || holdsSecret(path, value);
}

/** Tables of entries that may be webhooks. */
const webhookTables: ReadonlySet<string> = new Set(['hooks', 'guards']);

function holdsSecret(path: readonly string[], value: string): boolean {
  const { urls, secretPaths } = marked();
  const key = path.at(-1) ?? '';
  const [url] = urlsOfHosts(value);
  if (!urls.has(key) || !URL.canParse(url)) return false;
  const { username, password, search, pathname } = new URL(url);
  const isOfWebhook = webhookTables.has(path[0] ?? '') || path.at(-2) === 'webhook';
  if (key === 'url' && isOfWebhook && pathname !== '/') return true;
  return secretPaths.has(key) || [username, password, search].some((part) => part !== '');
}

function redactUrl(text: string, { hidesPath }: { hidesPath: boolean }): string {
  // A word such as `sqlite`, or a region.
  if (!text.includes('://')) return text;
  return urlOfHosts(urlsOfHosts(text).map((url) => redactOne(url, hidesPath)));
}

function redactOne(text: string, hidesPath: boolean): string {
  const url = URL.parse(text);
  if (url === null) return text;
  if (url.username !== '') url.username = 'user';
  if (url.password !== '') url.password = 'secret';
  if (url.search !== '') url.search = '?secret';
  if (hidesPath) url.pathname = '/secret';
  return url.href;
}
