import { type JsonObject, type JsonValue, objectsIn } from '../../kernel/json.ts';
import type { CollectionSpec } from '../collection.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { quoted, refuse } from '../filter/refuse.ts';
import type { PointId } from '../point.ts';
import { readPointId } from '../point-id.ts';
import type { Embedded, TextsToEmbed, VectorCall } from '../vector-engine.ts';
import type { VectorVerb } from '../verbs.ts';
import { readGroupLookup } from './group-lookups.ts';
import { liftVectors, type VectorMember } from './lift-vectors.ts';
import { parseBody } from './parse-vector-body.ts';
import {
  type CreatedCollection,
  readAliasChanges,
  readCreate,
  readName,
  readPayloadIndex,
  readUpdate,
} from './read-collection.ts';
import { readMatrix } from './read-matrix.ts';
import { readCount, readFacet, readRetrieve, readScroll } from './read-paging.ts';
import { type QueryDialect, readGroupQuery, readQueries, readQuery } from './read-query.ts';
import { readRerank } from './read-rerank.ts';
import { optional } from './read-scalars.ts';
import { readOneWrite, readWrites, type WriteName } from './read-write.ts';
import { type LiftedVectors, VectorReader } from './vector-reader.ts';
import type { Acknowledge, VectorRequest } from './vector-request.ts';

/** A call whose body is parsed and nothing more: enough to know which collection it is about. */
export interface OpenedCall {
  verb: VectorVerb;
  /** The name in the path, perhaps an alias; null for calls about none. */
  collection: string | null;
  params: VectorCall['params'];
  search: string;
  body: JsonObject;
  /** Vectors that were read apart, by the arrays that replace them in the body. */
  lifted: LiftedVectors;
}

export interface ReadCall {
  request: VectorRequest;
  /** Texts to embed, whose vectors `fill` gets before the request may run. */
  texts: TextsToEmbed | null;
  fill(embedded: Embedded): void;
  /** Other collections, which must exist too. */
  otherCollections: Iterable<string>;
}

export interface ReadLimits {
  /** Points that one call may write. */
  pointsPerCall: number;
}

/** Verbs that ask for nothing but what the path says; a body is not looked at. */
const bodiless: ReadonlySet<VectorVerb> = new Set<VectorVerb>([
  'list-collections',
  'inspect-collection',
  'delete-collection',
  'collection-exists',
  'list-aliases',
  'collection-aliases',
  'delete-index',
  'get-point',
]);

/** Parses the body and checks the names in the path. Throws a FailureError (400). */
export function openCall({ verb, params, search, body }: VectorCall): OpenedCall {
  const { collection } = params;
  return {
    verb,
    collection: collection === undefined ? null : readName(collection, 'collection'),
    params,
    search,
    ...openBody(verb, body),
  };
}

/** Vectors in which nearly all bytes of such a call lie. */
const liftedMembers: Partial<Record<VectorVerb, VectorMember>> = {
  'search-points': { name: 'vector', depth: 1 },
  'search-groups': { name: 'vector', depth: 1 },
  'query-points': { name: 'query', depth: 1 },
  'query-groups': { name: 'query', depth: 1 },
  'upsert-points': { name: 'vector', depth: 3 },
  'post-points': { name: 'vector', depth: 3 },
  'update-vectors': { name: 'vector', depth: 3 },
};

function openBody(verb: VectorVerb, bytes: Uint8Array): Pick<OpenedCall, 'body' | 'lifted'> {
  if (bodiless.has(verb)) return { body: {}, lifted: new Map() };
  const member = liftedMembers[verb];
  const opened = member === undefined ? null : openLifted(bytes, member);
  return opened ?? { body: parseBody(bytes), lifted: new Map() };
}

/** Null: the body must be parsed as a whole, perhaps to say what is wrong with it. */
function openLifted(bytes: Uint8Array, member: VectorMember): Pick<OpenedCall, 'body' | 'lifted'> | null {
  const found = liftVectors(bytes, member);
  if (found === null) return null;
  let body: JsonObject;
  try {
    body = parseBody(found.rest);
  } catch {
    return null;
  }
  const places = placesOf(body, member);
  const areThese = places.length === found.vectors.length && places.every((place, i) => place.join() === `${i}`);
  // Others are in an object that is no point, or were given twice.
  return areThese ? { body, lifted: new Map(found.vectors.map((vector, i) => [places[i], vector])) } : null;
}

/** Arrays in place of vectors, in their order in the body. */
function placesOf(body: JsonObject, { name, depth }: VectorMember): JsonValue[][] {
  const owners = depth === 1 ? [body] : objectsIn(body.points);
  return owners.map((owner) => owner[name]).filter((value) => Array.isArray(value));
}

/** Checks the whole call. `spec`: of its collection, if it is about one. Throws a FailureError: 400 or 501. */
export function readCall(call: OpenedCall, spec: CollectionSpec | null, limits: ReadLimits): ReadCall {
  const acknowledge = readOptions(call.search);
  const { verb, body } = call;
  const collection = call.collection!;
  const ready = (request: VectorRequest): ReadCall => ({ request, texts: null, fill() {}, otherCollections: [] });
  switch (verb) {
    case 'list-collections':
      return ready({ kind: 'list' });
    case 'create-collection':
      return readCreation(readCreate(body, null), 'contract');
    case 'put-collection':
      return readCreation(readCreate(body, collection), 'qdrant');
    case 'inspect-collection':
      return ready({ kind: 'inspect', collection });
    case 'update-collection':
      return ready({ kind: 'update', collection, change: readUpdate(body, spec!) });
    case 'delete-collection':
      return ready({ kind: 'drop', collection });
    case 'collection-exists':
      return ready({ kind: 'exists', collection });
    case 'change-aliases':
      return ready({ kind: 'change-aliases', changes: readAliasChanges(body) });
    case 'list-aliases':
      return ready({ kind: 'aliases', collection: null });
    case 'collection-aliases':
      return ready({ kind: 'aliases', collection });
    case 'create-index':
      return ready({ kind: 'index', collection, ...readPayloadIndex(body), acknowledge });
    case 'delete-index': {
      const key = readKeyPath(call.params.field, 'field').text;
      return ready({ kind: 'index', collection, key, type: null, acknowledge });
    }
    case 'get-point':
      return ready({ kind: 'get', collection, id: readPathId(call.params.id), want: { payload: true, vector: true } });
    case 'scroll-points':
      return ready({ kind: 'scroll', collection, query: readScroll(body) });
    case 'count-points':
      return ready({ kind: 'count', collection, filter: readCount(body) });
    case 'facet-points':
      return ready({ kind: 'facet', collection, query: readFacet(body) });
    case 'matrix-pairs':
    case 'matrix-offsets': {
      const form = verb === 'matrix-pairs' ? 'pairs' : 'offsets';
      return ready({ kind: 'matrix', collection, matrix: readMatrix(body, spec!), form });
    }
    case 'post-points':
      if (isRetrieve(body)) return ready({ kind: 'retrieve', collection, ...readRetrieve(body) });
      return readWriteCall(call, collection, spec!, 'upsert', limits, acknowledge);
    case 'search-points':
    case 'recommend-points':
    case 'query-points':
    case 'search-batch':
    case 'recommend-batch':
    case 'query-batch':
    case 'search-groups':
    case 'query-groups':
      return readQueryCall(verb, call, collection, spec!);
    default:
      return readWriteCall(call, collection, spec!, writeNames[verb], limits, acknowledge);
  }
}

/** Verbs that write to points, by the operation that they do; `batch`: several. */
const writeNames = {
  'upsert-points': 'upsert',
  'delete-points': 'delete',
  'set-payload': 'set_payload',
  'overwrite-payload': 'overwrite_payload',
  'delete-payload': 'delete_payload',
  'clear-payload': 'clear_payload',
  'update-vectors': 'update_vectors',
  'delete-vectors': 'delete_vectors',
  'batch-points': 'batch',
} as const satisfies Partial<Record<VectorVerb, WriteName | 'batch'>>;

function readWriteCall(
  { body, lifted }: OpenedCall,
  collection: string,
  spec: CollectionSpec,
  name: WriteName | 'batch',
  { pointsPerCall }: ReadLimits,
  acknowledge: Acknowledge,
): ReadCall {
  const vectors = new VectorReader(spec, body, 'document', lifted);
  const budget = { left: pointsPerCall, max: pointsPerCall };
  const operations = name === 'batch' ? readWrites(body, vectors, budget) : [readOneWrite(name, body, vectors, budget)];
  const form = name === 'batch' ? 'batch' : 'one';
  return withTexts({ kind: 'write', collection, operations, form, acknowledge }, vectors);
}

type QueryVerb = Extract<VectorVerb, `${QueryDialect}-${'points' | 'batch' | 'groups'}`>;

function readQueryCall(
  verb: QueryVerb,
  { body, lifted }: OpenedCall,
  collection: string,
  spec: CollectionSpec,
): ReadCall {
  const vectors = new VectorReader(spec, body, 'query', lifted);
  const [dialect, shape] = verb.split('-') as [QueryDialect, 'points' | 'batch' | 'groups'];
  const form = dialect === 'query' ? 'query' : 'search';
  if (shape === 'groups') {
    const query = readGroupQuery(body, dialect, vectors);
    const lookup = readGroupLookup(body.with_lookup, 'with_lookup');
    return withTexts({ kind: 'groups', collection, query, lookup }, vectors);
  }
  if (shape === 'batch') {
    return withTexts({ kind: 'queries', collection, queries: readQueries(body, dialect, vectors), form }, vectors);
  }
  const query = readQuery(body, dialect, '', vectors);
  const rerank = optional(body.rerank) ? null : readRerank(body.rerank, query, vectors.wording);
  return withTexts({ kind: 'query', collection, query, rerank, form }, vectors);
}

function withTexts(request: VectorRequest, vectors: VectorReader): ReadCall {
  const { texts, otherCollections } = vectors;
  return { request, texts, fill: (embedded) => vectors.fill(embedded), otherCollections };
}

/** A missing size is that of the model's vectors; a given one must equal it. */
function readCreation({ spec, sizes }: CreatedCollection, form: 'contract' | 'qdrant'): ReadCall {
  return {
    request: { kind: 'create', spec, form },
    texts: sizes === null ? null : { model: sizes.model, purpose: 'document', texts: [] },
    otherCollections: [],
    fill({ size }) {
      for (const { name, at, given } of sizes?.of ?? []) {
        if (given !== 0 && given !== size) {
          const vectors = `vectors of the embedding_model '${sizes?.model}'`;
          refuse(at, `is ${given}, but ${vectors} have ${size} numbers: leave it out`);
        }
        const named = spec.named?.[name];
        if (name === '') spec.size = size;
        else if (named?.kind === 'dense') named.size = size;
      }
    },
  };
}

/** The contract's upsert and Qdrant's retrieve have the same path. */
function isRetrieve(body: JsonObject): boolean {
  const writes = !optional(body.points) || !optional(body.batch);
  if (!optional(body.ids)) {
    if (writes) refuse('ids', 'give points to write them, or ids to read them, not both');
    return true;
  }
  if (!writes) refuse('points', 'is missing: give points to write them, or ids to read them');
  return false;
}

function readPathId(text: string | undefined): PointId {
  return readPointId(text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : text, 'id');
}

/**
 * Options that Qdrant's clients put behind the `?`, checked. Only `wait` means something to one machine. Others than
 * these are ignored.
 */
function readOptions(search: string): Acknowledge {
  if (search === '') return 'completed';
  const options = new URLSearchParams(search);
  const wait = options.get('wait');
  if (wait !== null && wait !== 'true' && wait !== 'false')
    refuse('wait', `expected true or false, got ${quoted(wait)}`);
  checkOption(options, 'ordering', /^(?:weak|medium|strong)$/, 'weak, medium or strong');
  checkOption(options, 'timeout', /^[1-9]\d{0,9}$/, 'whole seconds, at least 1');
  checkOption(options, 'consistency', /^(?:[1-9]\d{0,9}|majority|quorum|all)$/, 'a number, majority, quorum or all');
  return wait === 'false' ? 'acknowledged' : 'completed';
}

function checkOption(options: URLSearchParams, name: string, pattern: RegExp, expected: string): void {
  const value = options.get(name);
  if (value !== null && !pattern.test(value)) refuse(name, `expected ${expected}, got ${quoted(value)}`);
}
