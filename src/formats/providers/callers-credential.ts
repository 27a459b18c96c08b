import { spellingsOf } from '../../kernel/secret-spellings.ts';
import { type CredentialHeaders, printable } from './credential-headers.ts';
import type { CallersCredential, Provider } from './provider.ts';

/** Header of the key of this server, for callers whose other headers prove them to a provider. */
const gatewayKeyHeader = 'x-culvert-key';
/** Prefix of keys that a Culvert has issued: none of them goes to a provider in place of a caller's own credential. */
const gatewayKeyPrefix = 'sk-cv-';
/** Headers of one request that may pass, and the length of a value. */
const passedMax = 40;
const passedCharsMax = 2_048;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The part of a `ProviderConnection` that a caller's credential changes. */
interface Credentials {
  callers: CallersCredential | null;
  credentials: ReadonlyMap<string, CredentialHeaders>;
  secrets: readonly string[];
}

/** Id of the lane that all callers of such a provider share; the credential comes with each request. */
export const callersCredentialId = 'caller';

/**
 * The service as callers with their credentials may use it: conversations alone. Everything else asks a provider
 * again after the request, lists what all callers see, or runs when nobody waits.
 */
export function conversationsOf(provider: Provider): Provider {
  const {
    embeds: _embeds,
    embedsElsewhere: _embedsElsewhere,
    images: _images,
    imagesElsewhere: _imagesElsewhere,
    videos: _videos,
    videosElsewhere: _videosElsewhere,
    speech: _speech,
    speechElsewhere: _speechElsewhere,
    transcription: _transcription,
    transcriptionElsewhere: _transcriptionElsewhere,
    realtime: _realtime,
    batches: _batches,
    forwards: _forwards,
    forwardsElsewhere: _forwardsElsewhere,
    keepsResponses: _keepsResponses,
    ...conversing
  } = provider;
  const { moreModels: _moreModels, key: _key, originModels: _originModels, ...paths } = provider.paths;
  return { ...conversing, paths: { ...paths, models: null } };
}

/** Whether a request brings a credential for this provider; its key of this server is none. */
export function bringsCredential({ callers }: Pick<Credentials, 'callers'>, headers: Headers): boolean {
  return callers !== null && proofsIn(callers, headers).length > 0;
}

/**
 * The connection for one request: with the caller's credential and no other, which `scrub` removes from every message.
 * Null where the request brings none.
 */
export function withCallersCredential<C extends Credentials>(connection: C, headers: Headers): C | null {
  const { callers, credentials } = connection;
  if (callers === null) return null;
  const proofs = proofsIn(callers, headers);
  if (proofs.length === 0) return null;
  const passed = Object.entries(headers)
    .filter(([name]) => callers.passes.test(name))
    .flatMap(([name, value]) => (typeof value === 'string' && mayPass(value) ? [[name, value] as const] : []))
    .slice(0, passedMax);
  const added = [...proofs, ...passed];
  const over = (base: readonly string[]) => overlaid(base, added);
  const replaced = new Map<string, CredentialHeaders>();
  for (const [id, { whole, stream, get }] of credentials) {
    replaced.set(id, { whole: over(whole), stream: over(stream), get: over(get) });
  }
  const secrets = [...proofs, ...passed.filter(([name]) => callers.hidden.test(name))].map(([, value]) =>
    value.replace(/^bearer\s+/i, ''),
  );
  const made = {
    ...connection,
    credentials: replaced,
    limitsForCaller: (answered: AnsweredHeaders) => limitsIn(callers, answered),
    secrets: [...connection.secrets, ...secrets.flatMap(spellingsOf)],
  };
  return Object.defineProperty(made, 'secrets', { enumerable: false });
}

/** Headers of an answer by name, in small letters. */
export interface AnsweredHeaders {
  get(name: string): string | undefined;
  names(): Iterable<string>;
}

/** Name, value, name, value… of the headers that say how full the limits of the credential are. */
function limitsIn({ limits }: CallersCredential, answered: AnsweredHeaders): readonly string[] {
  const list: string[] = [];
  for (const name of new Set(answered.names())) {
    const value = limits.test(name) ? answered.get(name) : undefined;
    if (value !== undefined && mayPass(value) && list.length < 2 * passedMax) list.push(name, value);
  }
  return list;
}

function mayPass(value: string): boolean {
  return value.length <= passedCharsMax && printable(value);
}

/** Only next to the key of this server in its separate header: what else proves a caller here proves nothing there. */
function proofsIn({ proofs }: CallersCredential, headers: Headers): [string, string][] {
  const key = headers[gatewayKeyHeader];
  if (typeof key !== 'string' || key === '') return [];
  return proofs.flatMap((name): [string, string][] => {
    const value = headers[name];
    if (typeof value !== 'string' || !printable(value)) return [];
    const secret = name === 'authorization' ? (/^bearer +(\S+)$/i.exec(value.trim())?.[1] ?? '') : value.trim();
    return secret === '' || secret === key || secret.startsWith(gatewayKeyPrefix) ? [] : [[name, value.trim()]];
  });
}

/** The operator's headers stay; the client that Culvert names itself to others is the caller's here. */
function overlaid(base: readonly string[], added: readonly (readonly [string, string])[]): readonly string[] {
  const headers = base.slice();
  for (const [name, value] of added) {
    const at = headers.findIndex((header, index) => index % 2 === 0 && header === name);
    if (at < 0) headers.push(name, value);
    else if (name === 'user-agent' && headers[at + 1] === 'culvert') headers[at + 1] = value;
  }
  return headers;
}
