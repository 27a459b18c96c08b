import { isDeepStrictEqual } from 'node:util';
import type { KeyRing } from '../../../books/auth/key-ring.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { CrawlChunks, CrawlCollectionOf, CrawlSink } from '../../../tools/crawl/crawl-ports.ts';
import type { VectorVerb } from '../../../vectors/verbs.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import { forUser } from '../../spine/end-user.ts';
import { askVectors } from './ask-vectors.ts';
import type { VectorEndpoint } from './endpoint.ts';

/** The vector store as crawls write to it: by the calls that their owner could make, at the same cost. */
export function createCrawlSink(
  services: ServeServices,
  endpoint: VectorEndpoint,
  ring: Pick<KeyRing, 'principalOf'>,
): CrawlSink {
  async function ask(
    { keyId, user, collection }: CrawlCollectionOf,
    verb: VectorVerb,
    body: JsonObject | null,
  ): Promise<{ result: unknown } | Failure> {
    const principal = ring.principalOf(keyId);
    if (isFailure(principal)) return principal;
    // A collection that is made is named in the body.
    const params: Record<string, string> = verb === 'create-collection' ? {} : { collection };
    const owner = { principal: forUser(principal, user) };
    return askVectors(services, endpoint, { owner, verb, params, body, route: 'crawl vectors' });
  }

  async function call(owner: CrawlCollectionOf, verb: VectorVerb, body: JsonObject | null): Promise<Failure | null> {
    const answer = await ask(owner, verb, body);
    return isFailure(answer) ? answer : null;
  }

  /** Whether the collection has exactly these pieces already: they were embedded and paid. */
  async function holds(page: CrawlChunks): Promise<boolean> {
    const ids = page.points.map(({ id }) => id);
    const answer = await ask(page, 'post-points', { ids, with_payload: true, with_vector: false });
    if (isFailure(answer)) return false;
    const payloads = new Map(
      (answer.result as readonly { id: string; payload: JsonObject }[]).map(({ id, payload }) => [id, payload]),
    );
    return page.points.every(({ id, payload }) => isDeepStrictEqual(payloads.get(id), payload));
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
