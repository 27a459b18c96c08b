import { cachedContentOf, cacheNamedBy, withCachedContent } from '../../../formats/dialects/gemini/cached-content.ts';
import { gemini } from '../../../formats/dialects/gemini/index.ts';
import { withPathMembers } from '../../../formats/dialects/gemini/path-members.ts';
import { requestSchema } from '../../../formats/dialects/gemini/request-fields.ts';
import {
  type CachedContentFacts,
  type CachedContents,
  createCachedContents,
} from '../../../inference/batches/cached-contents.ts';
import type { StoredFiles } from '../../../inference/batches/stored-files.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import { countTokens } from '../../../inference/families/chat/count-tokens.ts';
import { type Failure, failureIn, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { withHold } from '../../with-hold.ts';
import { wholeOf } from '../list-page.ts';
import { type StoredCall, storedRoutes } from '../stored-route.ts';
import { googleVersions, pageTokenIn } from './resource-names.ts';

export interface CacheParts {
  services: Services;
  files(): Promise<StoredFiles>;
}

const lifetimeMsDefault = 3_600_000;
const lifetimeMsMax = 30 * 24 * 3_600_000;

/** Google's `cachedContents` (`client.caches`): beginnings of requests that are kept here, for models of any provider. */
export function cachedContentsRoutes(parts: CacheParts): Route[] {
  const { services } = parts;
  const route = storedRoutes({ endpoint: 'cached-contents', dialect: gemini, objects: services.bodies });
  const caches = () => cachesIn(parts);
  const properties = { model: { type: 'string' }, displayName: { type: 'string' }, ...timeProperties };
  return googleVersions.flatMap((version) => {
    const path = `/${version}/cachedContents`;
    const one = `${path}/:name`;
    const shown = (facts: CachedContentFacts | null, { params }: StoredCall) =>
      facts === null ? cacheNotFound(params.name ?? '', 'name') : shownCache(facts);
    return [
      route(
        'POST',
        path,
        'Cache the beginning of requests under a name',
        async (call) => {
          const made = await create(parts, call);
          return isFailure(made) ? made : shownCache(made);
        },
        { ...(requestSchema().properties as JsonObject), ...properties },
      ),
      route('GET', path, 'The cached beginnings of this key', (call) => listed(parts, call)),
      route('GET', one, 'A cached beginning', async (call) =>
        shown(await (await caches()).find(call.tenant, call.params.name ?? ''), call),
      ),
      route(
        'PATCH',
        one,
        'Change when a cached beginning expires',
        async (call) => {
          const expiresMs = expiryOf(services, call.body);
          if (expiresMs === null) return invalid('ttl', "Send 'ttl', such as \"3600s\", or 'expireTime'.");
          if (isFailure(expiresMs)) return expiresMs;
          return shown(await (await caches()).keepUntil(call.tenant, call.params.name ?? '', expiresMs), call);
        },
        timeProperties,
      ),
      route('DELETE', one, 'Delete a cached beginning', async (call) => {
        const name = call.params.name ?? '';
        return (await (await caches()).remove(call.tenant, name)) ? {} : cacheNotFound(name, 'name');
      }),
    ];
  });
}

const timeProperties = { ttl: { type: 'string', pattern: '^\\d+(\\.\\d+)?s$' }, expireTime: { type: 'string' } };

async function cachesIn({ services, files }: CacheParts): Promise<CachedContents> {
  return createCachedContents(await files(), () => services.clock.wallMs());
}

async function create(
  parts: CacheParts,
  { tenant, account, exchange, body }: StoredCall,
): Promise<CachedContentFacts | Failure> {
  const { services } = parts;
  const { model: written, displayName, display_name: inSnakeCase = displayName } = body;
  if (typeof written !== 'string') return invalid('model', "Missing 'model': send the name of a model.");
  const model = written.replace(/^models\//, '');
  const atMs = services.clock.wallMs();
  const expiresMs = expiryOf(services, body);
  if (isFailure(expiresMs)) return expiresMs;
  const content = cachedContentOf(body);
  if (content.contents.length === 0 && content.systemInstruction === undefined && content.tools === undefined) {
    return invalid('contents', "Send 'contents', 'systemInstruction' or 'tools' to keep.");
  }
  // Whatever is no part of a request is found here, and not when a request names the cache.
  const counting = {
    ...content,
    contents: content.contents.length === 0 ? [{ parts: [{ text: '.' }] }] : content.contents,
  };
  const counted = await countTokens(services, {
    dialect: 'gemini',
    principal: callerOf(exchange),
    body: withPathMembers(Buffer.from(JSON.stringify(counting)), model, false),
    callerHeaders: exchange.request.headers,
    ruled: null,
  });
  if (counted.kind !== 'counted') return counted;
  return withHold(services, account, async (hold) => {
    const shownName = typeof inSnakeCase === 'string' ? inSnakeCase.slice(0, 128) : null;
    const facts = { model, displayName: shownName, tokens: counted.inputTokens, body };
    const lifetimeMs = expiresMs === null ? lifetimeMsDefault : Math.max(1, expiresMs - atMs);
    return (await cachesIn(parts)).create(tenant, { ...facts, lifetimeMs }, hold);
  });
}

async function listed(parts: CacheParts, { tenant, query }: StoredCall): Promise<JsonObject | Failure> {
  const size = wholeOf(query, 'pageSize', 1_000) ?? 50;
  if (isFailure(size)) return size;
  const after = pageTokenIn(query, '');
  if (isFailure(after)) return after;
  const found = await (await cachesIn(parts)).list(tenant, after, size + 1);
  const page = found.slice(0, size);
  const last = page.at(-1);
  return {
    cachedContents: page.map(shownCache),
    ...(found.length > size && last !== undefined && { nextPageToken: last.name }),
  };
}

/** Wall-clock ms; null: the body says nothing about it. A failure names the field. */
function expiryOf({ clock }: Services, body: JsonObject): number | Failure | null {
  const { ttl, expireTime, expire_time: inSnakeCase = expireTime } = body;
  const field = ttl == null ? 'expireTime' : 'ttl';
  const value = ttl ?? inSnakeCase;
  if (value == null) return null;
  const text = typeof value === 'string' ? value : '';
  const seconds = field === 'ttl' ? Number(/^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(text)?.[1] ?? Number.NaN) : Number.NaN;
  const expiresMs = field === 'ttl' ? clock.wallMs() + seconds * 1_000 : Date.parse(text);
  const lifetimeMs = expiresMs - clock.wallMs();
  if (lifetimeMs > 0 && lifetimeMs <= lifetimeMsMax) return Math.ceil(expiresMs);
  const form = field === 'ttl' ? 'a time such as "3600s"' : 'a time to come, such as "2030-01-01T00:00:00Z"';
  return invalid(field, `'${field}' must be ${form}, within 30 days.`);
}

function cacheNotFound(name: string, param: string): Failure {
  const message = `There is no cache 'cachedContents/${name.slice(0, 80)}'. It may have expired, or belong to another key.`;
  return { kind: 'not-found', param, message };
}

function shownCache({ name, model, displayName, tokens, createdMs, updatedMs, expiresMs }: CachedContentFacts) {
  return {
    name: `cachedContents/${name}`,
    model: `models/${model}`,
    ...(displayName !== null && { displayName }),
    createTime: new Date(createdMs).toISOString(),
    updateTime: new Date(updatedMs).toISOString(),
    expireTime: new Date(expiresMs).toISOString(),
    usageMetadata: { totalTokenCount: tokens },
  };
}

const storedName = /^cachedContents\/([0-9a-z]{25})$/;

/**
 * A body with what its cache keeps, as if its caller had sent it whole. The same bytes where it names none of ours: a
 * cache that Google keeps goes there.
 */
export async function withStoredCache(parts: CacheParts, exchange: Exchange, raw: Buffer): Promise<Buffer | Failure> {
  if (!raw.includes('"cachedContent"') && !raw.includes('"cached_content"')) return raw;
  const { tenant } = callerOf(exchange);
  const read = await parts.services.bodies.readObject(tenant, raw);
  if (isFailure(read)) return read;
  const [, name] = storedName.exec(cacheNamedBy(read.body) ?? '') ?? [];
  if (name === undefined) return raw;
  const content = await (await cachesIn(parts)).read(tenant, name);
  if (content === null) return cacheNotFound(name, 'cachedContent');
  try {
    const whole = Buffer.from(JSON.stringify(withCachedContent(read.body, content)));
    return exchange.held?.take(whole.length) ?? whole;
  } catch (error) {
    return failureIn(error);
  }
}
