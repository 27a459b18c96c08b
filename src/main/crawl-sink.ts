import { isDeepStrictEqual } from 'node:util';
import type { KeyRing } from '../auth/key-ring.ts';
import type { Services } from '../inference/endpoints/services.ts';
import { admittedBefore } from '../inference/metered/meter-crawl.ts';
import { createVectorMeter } from '../inference/metered/meter-vectors.ts';
import { type Failure, invalid, statusOf } from '../kernel/failure.ts';
import { newRequestId } from '../kernel/ids.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { CrawlChunks, CrawlCollectionOf, CrawlSink } from '../tools/crawl/crawl-ports.ts';
import type { VectorAnswer, VectorEngine } from '../vectors/engine.ts';
import type { VectorVerb } from '../vectors/verbs.ts';

export interface CrawlSinkParts {
  engine: VectorEngine;
  services: Services;
  ring: Pick<KeyRing, 'principalOf'>;
}

/** The vector store as crawls write to it: by the calls that their owner could make, at the same cost. */
export function createCrawlSink({ engine, services, ring }: CrawlSinkParts): CrawlSink {
  const { clock } = services;
  const meter = createVectorMeter(services);

  /** The path of a vector call (http/routes/vector-call), for which nobody waits. */
  async function ask(
    owner: CrawlCollectionOf,
    verb: VectorVerb,
    body: JsonObject | null,
  ): Promise<VectorAnswer | Failure> {
    const principal = ring.principalOf(owner.keyId);
    if ('kind' in principal) return principal;
    const { tenant, account } = principal;
    const prepared = await engine.prepare({
      owner: { tenant, account },
      verb,
      // A collection that is made is named in the body.
      params: verb === 'create-collection' ? {} : { collection: owner.collection },
      search: '',
      body: body === null ? new Uint8Array(0) : new TextEncoder().encode(JSON.stringify(body)),
    });
    if (prepared.kind !== 'prepared') return prepared;
    const atMs = clock.wallMs();
    const startedMs = clock.monotonicMs();
    const requestId = newRequestId(atMs);
    const trace = services.traces?.begin({ atMs, startedMs, headers: null }) ?? null;
    const endTrace = (status: number) =>
      trace?.end(
        { requestId, method: null, route: 'crawl vectors', status, account, keyId: owner.keyId, about: null },
        clock.monotonicMs(),
      );
    const held = await meter
      .hold(
        { requestId, clientRequestId: null, tag: null, principal, admitted: admittedBefore, trace, atMs, startedMs },
        prepared,
      )
      .catch((error: unknown) => {
        prepared.drop();
        endTrace(500);
        throw error;
      });
    if (held.kind !== 'held') {
      prepared.drop();
      endTrace(statusOf(held));
      return held;
    }
    let failure: Failure | null = { kind: 'internal' };
    try {
      const embedded = prepared.texts === null ? null : await held.embed();
      if (embedded !== null && 'kind' in embedded) {
        prepared.drop();
        failure = embedded;
        return failure;
      }
      const answer = await prepared.run(embedded, ({ texts }) => held.rank(texts));
      failure = answer.kind === 'answer' ? null : answer;
      return answer;
    } finally {
      const status = failure === null ? 200 : statusOf(failure);
      held.settle({ status, failure, aborted: false });
      endTrace(status);
    }
  }

  async function call(owner: CrawlCollectionOf, verb: VectorVerb, body: JsonObject | null): Promise<Failure | null> {
    const answer = await ask(owner, verb, body);
    return answer.kind === 'answer' ? null : answer;
  }

  /** Whether the collection has exactly these pieces already: they were embedded and paid. */
  async function holds(page: CrawlChunks): Promise<boolean> {
    const ids = page.points.map(({ id }) => id);
    const answer = await ask(page, 'post-points', { ids, with_payload: true, with_vector: false });
    if (answer.kind !== 'answer') return false;
    const { result } = JSON.parse(Buffer.from(answer.body).toString()) as { result: readonly KeptPoint[] };
    const kept = new Map(result.map(({ id, payload }) => [id, payload]));
    return page.points.every(({ id, payload }) => isDeepStrictEqual(kept.get(id), payload));
  }

  return {
    async check(of) {
      const missing = await call(of, 'inspect-collection', null);
      if (missing?.kind !== 'not-found') return missing;
      if (of.model === null) {
        const name = of.collection.slice(0, 255);
        return invalid(
          'collection',
          `There is no collection '${name}'. Create it first, or name its embedding model in 'collection': {"name": "${name}", "model": "<embedding model>"}.`,
        );
      }
      return call(of, 'create-collection', { name: of.collection, embedding_model: of.model });
    },
    async put(page) {
      const written = page.again && (await holds(page)) ? [] : page.points;
      return call(page, 'batch-points', replacing(page, written));
    },
  };
}

interface KeptPoint {
  id: string;
  payload: JsonObject;
}

/** The same call removes pieces that the page no longer has. */
function replacing({ url, model, points }: CrawlChunks, written: CrawlChunks['points']): JsonObject {
  const upserted = written.map(({ id, text, payload }) => ({
    id,
    vector: model === null ? { text } : { text, model },
    payload: { ...payload },
  }));
  const outdated = {
    must: [
      { key: 'url', match: { value: url } },
      { key: 'chunk', range: { gte: points.length } },
    ],
  };
  const upsert = upserted.length === 0 ? [] : [{ upsert: { points: upserted } }];
  return { operations: [{ delete: { filter: outdated } }, ...upsert] };
}
