import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import type { VectorEndpoint } from '../../inference/families/vectors/endpoint.ts';
import type { ServeServices } from '../../inference/spine/answer-cache.ts';
import { serve } from '../../inference/spine/serve.ts';
import { refuse } from '../../inference/spine/sink.ts';
import type { ErrorContext } from '../../kernel/failure.ts';
import { requestIdMs } from '../../kernel/ids.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import type { Room, RoomHold } from '../../kernel/sharing/room.ts';
import type { VectorEngine } from '../../vectors/vector-engine.ts';
import { type VectorVerb, vectorVerbNames, vectorVerbs } from '../../vectors/verbs.ts';
import { admittedOf, type Exchange, type Route } from '../exchange.ts';
import { plainCallOf } from '../model-call.ts';
import { readJsonBody } from '../read-body.ts';
import { writeJson } from '../write-json.ts';
import { keyRoute, openRoute } from './key-route.ts';
import { gatewayRootPaths, unsupportedQdrant, unsupportedQdrantCalls } from './unsupported-qdrant.ts';

/** Error bodies of the vector API: ours, with Qdrant's `status` and `time` (seconds), which its clients read. */
const vectorErrors: Route['dialect'] = {
  errorBody: (failure, context) => withQdrantMembers(openAiChat.errorBody(failure, context), context),
  // No call of the vector API streams.
  errorFrame: (failure, context) => JSON.stringify(vectorErrors.errorBody(failure, context)),
};

function withQdrantMembers(body: JsonObject, { requestId, nowMs }: ErrorContext): JsonObject {
  const message = isObject(body.error) ? body.error.message : undefined;
  return { ...body, status: { error: message }, time: Math.max(0, nowMs - requestIdMs(requestId)) / 1_000 };
}

export interface VectorParts {
  services: ServeServices;
  endpoint: VectorEndpoint;
  engine: Pick<VectorEngine, 'bodyMemory'>;
  /** For bodies, and for answers until they are sent. */
  bodies: Room;
}

/** Most bytes of one call: 10,000 points are sent in several. */
export const vectorBodyBytesMax = 32 * 1024 * 1024;

const prefix = '/v1/vectors';
/** Qdrant's client drops a path in its `url` and asks at the root. */
const prefixes = [prefix, ''] as const;

/** Version of Qdrant's API that is spoken; its client warns unless it is about its own. */
export const qdrantApiVersion = '1.19.0';

/** The vector API, below `/v1/vectors` and at the root: every verb, and a 501 for other calls of Qdrant. */
export function vectorRoutes(parts: VectorParts): Route[] {
  return [
    ...[prefix, `${prefix}/`].map(titleRoute),
    ...prefixes.flatMap((at) => vectorVerbNames.map((verb) => verbRoute(parts, at, verb))),
    ...prefixes.flatMap((at) => unsupportedRoutes(at)),
  ];
}

function titleRoute(path: string): Route {
  const title = { title: 'Culvert vectors', version: qdrantApiVersion };
  const summary = "Title, and the version of Qdrant's API that is spoken";
  return { ...openRoute(`GET ${path}`, summary, (exchange) => writeJson(exchange, 200, title)), dialect: vectorErrors };
}

function verbRoute(parts: VectorParts, at: string, verb: VectorVerb): Route {
  const { method, path } = vectorVerbs[verb];
  return keyRoute(`${method} ${at + path}`, 'vector', {
    endpoint: 'vectors',
    dialect: vectorErrors,
    summary: vectorSummaries[verb],
    ...(takesBody(verb) && { body: { schema: () => bodySchemaOf(verb) } }),
    handle: (exchange) => answerVectorCall(parts, verb, exchange),
  });
}

/** The module reads bodies too, which is the threads' work: it is loaded for the description alone. */
async function bodySchemaOf(verb: VectorVerb): Promise<JsonObject> {
  return (await import('../../vectors/wire/body-schemas.ts')).vectorBodySchema(verb);
}

async function answerVectorCall(parts: VectorParts, verb: VectorVerb, exchange: Exchange): Promise<void> {
  const { response } = exchange;
  const held = parts.bodies.hold(exchange.principal!.account);
  try {
    await serveVectorCall(parts, verb, exchange, held);
  } finally {
    // Until then the answer is in the socket's buffer.
    if (response.closed) held.giveBack();
    else response.once('close', () => held.giveBack());
  }
}

async function serveVectorCall(
  { services, endpoint, engine: { bodyMemory } }: VectorParts,
  verb: VectorVerb,
  exchange: Exchange,
  held: RoomHold,
): Promise<void> {
  const call = plainCallOf(exchange);
  const taken: SharedArrayBuffer[] = [];
  const memory = (bytes: number) => {
    const large = bodyMemory.take(bytes);
    taken.push(large);
    return Buffer.from(large, 0, bytes);
  };
  const onRead = () => {
    for (const large of taken.splice(0)) bodyMemory.give(large);
  };
  try {
    const body = takesBody(verb) ? await readJsonBody(exchange, vectorBodyBytesMax, { held, memory }) : Buffer.alloc(0);
    if (body === null) return;
    if (!Buffer.isBuffer(body)) return refuse(call.sink, body, call.admitted.headers);
    const { params, search } = exchange;
    const large = taken.length > 0 && { onRead };
    await serve(services, endpoint, call, { verb, params, search, body, held, ...large });
  } finally {
    if (taken.length > 0) onRead();
  }
}

function takesBody(verb: VectorVerb): boolean {
  const { method } = vectorVerbs[verb];
  return method !== 'GET' && method !== 'DELETE';
}

function unsupportedRoutes(at: string): Route[] {
  return unsupportedQdrantCalls
    .filter(({ path }) => at !== '' || !gatewayRootPaths.has(path))
    .flatMap((call) => {
      const failure = unsupportedQdrant(call);
      const handle = (exchange: Exchange) => refuse(exchange.client, failure, admittedOf(exchange).headers);
      return call.methods.map(
        (method): Route =>
          keyRoute(`${method} ${at + call.path}`, 'vector', {
            endpoint: 'vectors',
            dialect: vectorErrors,
            summary: 'Not supported: 501',
            handle,
          }),
      );
    });
}

/** Descriptions of the calls, for /openapi.json. */
const vectorSummaries: Readonly<Record<VectorVerb, string>> = {
  'list-collections': 'List the collections of the key',
  'create-collection': 'Create a collection: name, vector_size (or embedding_model), distance',
  'put-collection': "Create a collection in Qdrant's words: vectors.size, vectors.distance",
  'inspect-collection': 'Point count, vector size, distance and payload indexes of a collection',
  'update-collection': 'Change the settings of a collection, but not its size or distance',
  'delete-collection': 'Delete a collection with its points and aliases',
  'collection-exists': 'Say whether a collection exists',
  'change-aliases': 'Create, delete and rename aliases of collections; either all changes happen or none',
  'list-aliases': 'List the aliases of the key',
  'collection-aliases': 'List the aliases of a collection',
  'create-index': 'Declare the type of a payload key',
  'delete-index': 'Remove the type of a payload key',
  'upsert-points': 'Write points: new ones, or replacements of those with the same id',
  'post-points': 'With `points` write points; with `ids` read them',
  'get-point': 'Read a point',
  'delete-points': 'Delete points by ids or filter',
  'set-payload': 'Set keys of the payload of points',
  'overwrite-payload': 'Replace the payload of points',
  'delete-payload': 'Delete keys of the payload of points',
  'clear-payload': 'Remove the payload of points',
  'update-vectors': 'Replace the vectors of points that exist',
  'delete-vectors': 'Remove the vectors of these names from points',
  'batch-points': 'Do several writes in order, all or none',
  'search-points': 'Find the points nearest to a vector, a point or a text',
  'search-batch': 'Do several searches at once',
  'search-groups': 'Find the nearest points, grouped by a payload key',
  'recommend-points': 'Find points near positive and far from negative examples',
  'recommend-batch': 'Do several recommendations at once',
  'query-points': 'Find nearest, recommended, ordered or sampled points',
  'query-batch': 'Do several queries at once',
  'query-groups': 'Do a query, grouped by a payload key',
  'matrix-pairs': 'Take points at random and list the nearest ones of each among them, as pairs',
  'matrix-offsets': 'The same as a sparse matrix',
  'scroll-points': 'Page through points, by id or by a payload key',
  'count-points': 'Count points, all or those of a filter',
  'facet-points': 'Count how many points have each value of a payload key',
};
