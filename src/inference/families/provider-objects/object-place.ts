import { matchesGlob } from '../../../books/auth/model-glob.ts';
import type { Principal } from '../../../books/auth/principal.ts';
import { type NamedObject, objectNotFound } from '../../../formats/dialects/named-objects.ts';
import type { ObjectApi, ObjectOperation } from '../../../formats/providers/object-apis.ts';
import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isSortedId } from '../../../kernel/ids.ts';
import type { ConfiguredProvider } from '../../models/connections.ts';
import type { UploadedFile } from '../chat/inline-uploads.ts';
import { credentialFor, type PassedWay, passedModel, wayTo } from '../passthrough/pass-through.ts';
import type { ObjectServices } from './services.ts';

/** Where a request for objects goes. */
export interface ObjectPlace {
  kind: 'place';
  way: PassedWay;
  /** Id of the credential under which its objects live. */
  credential: string;
  /** Files of `/v1/files` that it names, by id: the provider has not got them. */
  uploads: ReadonlyMap<string, UploadedFile>;
}

/** A request that names objects. */
export interface ObjectAsk {
  operation: ObjectOperation;
  /** Below the API's root. */
  path: string;
  search: string;
  named: readonly NamedObject[];
}

/**
 * The provider and credential that have all of the named objects; of a request that names none, the first provider that is
 * open to it. 404 for an id that the tenant was never given, 400 for objects of two credentials, 403 where no open
 * provider is allowed. Rejects when the database cannot be asked.
 */
export async function placeOf(
  services: ObjectServices,
  principal: Principal,
  { operation, path, search, named }: ObjectAsk,
): Promise<ObjectPlace | Failure> {
  const open = openProviders(services, operation.api);
  if (open.length === 0) return closed(operation);
  const uploads = new Map<string, UploadedFile>();
  let left: readonly ConfiguredProvider[] = open;
  let home: { credential: string; field: string } | null = null;
  for (const { id, field } of named) {
    const upload = isSortedId('file-', id) ? await services.uploads.find?.(principal.tenant, id) : null;
    if (upload != null) {
      uploads.set(id, upload);
      continue;
    }
    const given = await services.objects.homeOf(principal.tenant, id);
    if (given !== null && home !== null && given.credential !== home.credential) return twoPlaces(home.field, field);
    if (given !== null) home = { credential: given.credential, field };
    else left = left.filter(({ config }) => config.shared_objects.some((glob) => matchesGlob(glob, id)));
    if (left.length === 0) return objectNotFound(field);
  }
  const found = home;
  const reachable =
    found === null ? left : left.filter(({ connection }) => connection.credentials.has(found.credential));
  if (found !== null && reachable.length === 0) return objectNotFound(found.field);
  return firstAllowed(services, principal, { operation, path, search }, reachable, found?.credential ?? null, uploads);
}

function firstAllowed(
  services: ObjectServices,
  principal: Principal,
  { operation, path, search }: Omit<ObjectAsk, 'named'>,
  providers: readonly ConfiguredProvider[],
  credential: string | null,
  uploads: ObjectPlace['uploads'],
): ObjectPlace | Failure {
  let refused: Failure = closed(operation);
  let isFirst = true;
  for (const configured of providers) {
    const provider = configured.connection.name;
    const way = wayTo(services, principal, configured, {
      method: operation.method,
      provider,
      path,
      search,
      keeps: operation.method === 'POST',
    });
    if (way.kind === 'way') {
      return { kind: 'place', way, credential: credential ?? credentialFor(way, principal.tenant), uploads };
    }
    if (isFirst) refused = way;
    isFirst = false;
  }
  return refused;
}

function openProviders(services: Pick<ObjectServices, 'snapshots'>, api: ObjectApi): ConfiguredProvider[] {
  return [...services.snapshots.current.providers.values()].filter(({ config }) => config.object_apis.includes(api));
}

function closed({ api, method, path }: ObjectOperation): Failure {
  // The same path takes chats.
  if (path === '/chat/completions')
    return { kind: 'method-not-allowed', method, path: `/v1${path}`, allowed: ['POST'] };
  const message = `No provider here is open to this API. An operator opens it with 'object_apis: [${api}]' of a provider, and a key may use it where its models allow '${passedModel('PROVIDER')}'.`;
  return { kind: 'not-found', message };
}

function twoPlaces(field: string, other: string): Failure {
  return invalid(other, `'${field}' and '${other}' name objects of two accounts. Send a request for each.`);
}
