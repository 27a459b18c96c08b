import { hash, timingSafeEqual } from 'node:crypto';
import type { ScimRow } from '../../books/auth/account-store.ts';
import { changeResource, groupOf, provisioned, type ScimParts, userOf } from '../../books/auth/scim/directory.ts';
import { filterOf } from '../../books/auth/scim/filter.ts';
import { patched } from '../../books/auth/scim/patch.ts';
import { noResource } from '../../books/auth/scim/resource.ts';
import type { SharedTally } from '../../books/metering/tally.ts';
import type { ScimConfig } from '../../config/schema/schema-dashboard.ts';
import type { Config } from '../../config/schema.ts';
import { sendWhole } from '../../inference/spine/sink.ts';
import { type Failure, failureIn, invalid, isFailure, refuse, unauthenticated } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import { countFailed, createLoginThrottle } from '../dashboard/login-throttle.ts';
import type { Exchange } from '../exchange.ts';
import { linkBaseOf } from '../link-base.ts';
import { readJsonBody } from '../read-body.ts';
import { resourceTypes, schemas, serviceProviderConfig } from './describe-scim.ts';

export interface ScimDoorParts extends ScimParts {
  /** Null: no directory is configured. */
  scim(): ScimConfig | null;
  /** Counts wrong tokens on other replicas; null: there are none. */
  tally: SharedTally | null;
  addressOf(request: Exchange['request']): string | null;
  server(): Config['server'];
}

interface Answer {
  status: number;
  /** Null: none. */
  body: object | null;
  /** Address of what was created. */
  location?: string;
}

const bodyBytesMax = 4 * 1024 * 1024;
const pageMax = 200;
const message = (name: string) => `urn:ietf:params:scim:api:messages:2.0:${name}`;
const core = (name: string) => `urn:ietf:params:scim:schemas:core:2.0:${name}`;
const kinds: Readonly<Record<string, ScimRow['kind']>> = { Users: 'user', Groups: 'group' };

const noDirectory: Failure = { kind: 'not-found', message: 'This server has no dashboard.scim in its configuration.' };
const wrongToken = unauthenticated('The bearer token is not that of dashboard.scim.');

/** SCIM 2.0 (RFC 7643, 7644) below `/scim/v2`, as far as Microsoft Entra ID and Okta use it. */
export function createScimDoor(parts: ScimDoorParts): (exchange: Exchange) => Promise<void> {
  const throttle = createLoginThrottle(parts.clock, parts.tally, 'admin-keys');

  /** Null: the token is right. Wrong ones close an address for a while; a right one goes on to work. */
  async function refusal(exchange: Exchange, { token }: ScimConfig): Promise<Failure | null> {
    const { authorization = '' } = exchange.request.headers;
    const given = /^bearer +(\S{1,1024})$/i.exec(authorization)?.[1] ?? '';
    if (timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))) return null;
    return countFailed(throttle, parts.addressOf(exchange.request), wrongToken);
  }

  return async (exchange) => {
    try {
      const config = parts.scim() ?? refuse(noDirectory);
      const refused = await refusal(exchange, config);
      if (refused !== null) refuse(refused);
      const answer = await answerTo(exchange, config, parts);
      if (answer !== null) send(exchange, answer);
    } catch (error) {
      send(exchange, failed(failureIn(error), parts.clock.wallMs()));
    }
  };
}

/** Null: the caller left while sending. */
async function answerTo(exchange: Exchange, { roles }: ScimConfig, parts: ScimDoorParts): Promise<Answer | null> {
  const base = `${linkBaseOf(exchange.request, parts.server())}/scim/v2`;
  const [, type = '', id = null, rest] = exchange.path.slice('/scim/v2'.length).split('/');
  const kind = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  const { method = '' } = exchange.request;
  if (rest !== undefined || id === '') return refuse(noResource(type));
  if (kind === undefined) return method === 'GET' ? ok(described(type, id, base)) : refuse(noResource(type));
  const query = new URLSearchParams(exchange.search);
  if (method === 'GET') {
    const rows = (await provisioned(parts)).filter((row) => row.kind === kind);
    if (id === null) return ok(listOf(rows, query, base));
    return ok(shown(rows.find((row) => row.id === id) ?? refuse(noResource(id)), base, query));
  }
  if (method === 'DELETE' && id !== null) {
    await changeResource(parts, roles, { kind, id, edit: () => null });
    return { status: 204, body: null };
  }
  if ((id === null) !== (method === 'POST')) return refuse(noResource(id ?? type));
  const body = await readJsonBody(exchange, bodyBytesMax);
  if (body === null) return null;
  if (!Buffer.isBuffer(body)) return refuse(body);
  const parsed = parseObject(body);
  const given = isFailure(parsed) ? refuse(parsed) : parsed.body;
  const row = await changeResource(parts, roles, {
    kind,
    id,
    // Whose login it is comes from the login alone.
    edit: (before) => ({
      // A whole user without `active` stays as it is: it must not come back by a change of its name.
      ...(method === 'PATCH' ? patched(before ?? {}, given) : { active: before?.active ?? true, ...given }),
      bound: before?.bound ?? null,
    }),
  });
  if (row === null) return { status: 204, body: null };
  const resource = shown(row, base, query);
  return method === 'POST' ? { status: 201, body: resource, location: `${base}/${type}/${row.id}` } : ok(resource);
}

function described(type: string, id: string | null, base: string): object {
  if (type === 'ServiceProviderConfig' && id === null) return serviceProviderConfig(base, pageMax);
  const all = type === 'ResourceTypes' ? resourceTypes(base) : type === 'Schemas' ? schemas(base) : null;
  if (all === null) return refuse(noResource(type));
  return id === null ? wholeList(all) : (all.find((one) => one.id === id) ?? refuse(noResource(id)));
}

function listOf(rows: readonly ScimRow[], query: URLSearchParams, base: string): object {
  const filter = query.get('filter');
  const accepts = filter === null ? null : filterOf(filter);
  const compared = new URLSearchParams(/members/i.test(filter ?? '') ? '' : { excludedAttributes: 'members' });
  const matched = accepts === null ? rows : rows.filter((row) => accepts(shown(row, base, compared)));
  const start = Math.max(1, wholeIn(query, 'startIndex') ?? 1);
  const count = Math.min(pageMax, Math.max(0, wholeIn(query, 'count') ?? pageMax));
  const page = matched.slice(start - 1, start - 1 + count).map((row) => shown(row, base, query));
  return {
    schemas: [message('ListResponse')],
    totalResults: matched.length,
    startIndex: start,
    itemsPerPage: page.length,
    Resources: page,
  };
}

function wholeList(resources: readonly object[]): object {
  return { schemas: [message('ListResponse')], totalResults: resources.length, Resources: resources };
}

function wholeIn(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  if (text === null) return null;
  return /^-?\d{1,9}$/.test(text) ? Number(text) : refuse(invalid(name, `${name}: expected a whole number`));
}

function shown(row: ScimRow, base: string, query: URLSearchParams): JsonObject {
  const { id, kind, data, createdMs, updatedMs } = row;
  const type = kind === 'user' ? 'User' : 'Group';
  const meta = {
    resourceType: type,
    created: new Date(createdMs).toISOString(),
    lastModified: new Date(updatedMs).toISOString(),
    location: `${base}/${type}s/${id}`,
  };
  const head = { schemas: [core(type)], id };
  if (kind === 'user') {
    const { bound: _bound, ...user } = userOf(data);
    return { ...head, ...withoutNull(user), meta };
  }
  const { members, ...group } = groupOf(data);
  // Entra asks for groups without their members.
  const isLeftOut = query.get('excludedAttributes')?.split(',').includes('members') === true;
  const listed = members.map((value) => ({ value, $ref: `${base}/Users/${value}`, type: 'User' }));
  const { bound: _bound, ...shownGroup } = group as typeof group & { bound?: unknown };
  return { ...head, ...withoutNull(shownGroup), ...(!isLeftOut && { members: listed }), meta };
}

function withoutNull(object: object): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

function ok(body: object): Answer {
  return { status: 200, body };
}

function failed(failure: Failure, nowMs: number): Answer {
  const { status, message: detail, param } = factsOf(failure, nowMs);
  const scimType = failure.kind === 'conflict' ? 'uniqueness' : param === 'filter' ? 'invalidFilter' : 'invalidValue';
  const hasType = status === 400 || status === 409;
  const body = { schemas: [message('Error')], status: String(status), ...(hasType && { scimType }), detail };
  return { status, body };
}

function send({ client }: Exchange, { status, body, location }: Answer): void {
  const headers = ['content-type', 'application/scim+json', 'cache-control', 'no-store'];
  if (location !== undefined) headers.push('location', location);
  sendWhole(client, headers, body === null ? '' : JSON.stringify(body), status);
}
