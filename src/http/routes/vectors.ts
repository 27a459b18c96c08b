import { refuse } from '../../inference/spine/sink.ts';
import { type VectorVerb, vectorVerbNames, vectorVerbs } from '../../vectors/verbs.ts';
import type { Exchange, Route } from '../exchange.ts';
import { writeJson } from '../write-json.ts';
import { ownRootPaths, unsupportedQdrant, unsupportedQdrantCalls } from './unsupported-qdrant.ts';
import { answerVectorCall, type VectorParts } from './vector-call.ts';
import { vectorErrors } from './vector-errors.ts';
import { vectorSummaries } from './vector-summaries.ts';

const prefix = '/v1/vectors';
/** Qdrant's client drops a path in its `url` and asks at the root. */
const prefixes = [prefix, ''] as const;

/** Version of Qdrant's API that is spoken; its client warns unless it is about its own. */
export const qdrantApiVersion = '1.19.0';

/** The vector API, below `/v1/vectors` and at the root: every verb, and a 501 for what else Qdrant has. */
export function vectorRoutes(parts: VectorParts): Route[] {
  return [
    ...[prefix, `${prefix}/`].map(titleRoute),
    ...prefixes.flatMap((at) => vectorVerbNames.map((verb) => verbRoute(parts, at, verb))),
    ...prefixes.flatMap((at) => unsupportedRoutes(at)),
  ];
}

function titleRoute(path: string): Route {
  return {
    method: 'GET',
    path,
    auth: 'none',
    quota: 'none',
    dialect: vectorErrors,
    summary: "Title, and the version of Qdrant's API that is spoken",
    handle: (exchange) => writeJson(exchange, 200, { title: 'Culvert vectors', version: qdrantApiVersion }),
  };
}

function verbRoute(parts: VectorParts, at: string, verb: VectorVerb): Route {
  const { method, path } = vectorVerbs[verb];
  return {
    method,
    path: at + path,
    auth: 'key',
    quota: 'vector',
    endpoint: 'vectors',
    dialect: vectorErrors,
    summary: vectorSummaries[verb],
    handle: (exchange) => answerVectorCall(parts, verb, exchange),
  };
}

function unsupportedRoutes(at: string): Route[] {
  return unsupportedQdrantCalls
    .filter(({ path }) => at !== '' || !ownRootPaths.has(path))
    .flatMap((call) => {
      const failure = unsupportedQdrant(call);
      const handle = (exchange: Exchange) => refuse(exchange.client, failure, exchange.admitted!.headers);
      return call.methods.map(
        (method): Route => ({
          method,
          path: at + call.path,
          auth: 'key',
          quota: 'vector',
          endpoint: 'vectors',
          dialect: vectorErrors,
          summary: 'Not supported: 501',
          handle,
        }),
      );
    });
}
