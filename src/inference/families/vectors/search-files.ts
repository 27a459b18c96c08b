import type { ServerSource } from '../../../formats/neutral/server-tool.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { isSortedId } from '../../../kernel/ids.ts';
import { type JsonObject, objectIn } from '../../../kernel/json.ts';
import { refusedFilter, vectorFilter } from '../../server-tools/file-filter.ts';
import type { ServerToolPorts } from '../../server-tools/tool-ports.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import { askVectors } from './ask-vectors.ts';
import type { VectorEndpoint } from './endpoint.ts';

const passageCharsMax = 4_000;

/** A vector store is about to be searched. Why it cannot be; null: it can. */
export type StoreUsed = (tenant: string, store: string) => Promise<Failure | null>;

/** Searches of vector stores and collections for models: those of the owner's key, at the same cost. */
export function createFileSearch(
  services: ServeServices,
  endpoint: VectorEndpoint,
  storeUsed: StoreUsed,
): ServerToolPorts['searchFiles'] {
  return async ({ principal, requestId, tag }, query, how) => {
    const sources: ServerSource[] = [];
    let costMilli = 0;
    for (const collection of how.collections) {
      const isStore = isSortedId('vs_', collection);
      const unusable = isStore ? await storeUsed(principal.tenant, collection) : null;
      if (unusable !== null) return unusable;
      const keyOf = isStore ? attributeKey : undefined;
      const filter = how.filters === null ? null : vectorFilter(how.filters, `${how.field}.filters`, keyOf);
      if (isFailure(filter)) return filter;
      const body: JsonObject = {
        text: query,
        limit: how.resultsMax,
        with_payload: true,
        ...(filter !== null && { filter }),
        ...(how.scoreMin !== null && { score_threshold: how.scoreMin }),
      };
      const owner = { principal, of: requestId, tag };
      const question = { owner, verb: 'search-points', params: { collection }, body, route: 'file search' } as const;
      const answer = await askVectors(services, endpoint, question);
      if (isFailure(answer)) return refusedFilter(answer, `${how.field}.filters`);
      costMilli += answer.costMilli;
      sources.push(...(answer.result as readonly FoundPoint[]).map(isStore ? storePassageOf : passageOf));
    }
    sources.sort((a, b) => (b.score ?? 0) - (a.score ?? 0));
    return { sources: sources.slice(0, how.resultsMax), costMilli };
  };
}

interface FoundPoint {
  id: string | number;
  score: number;
  payload?: JsonObject | null;
}

/** Place of an attribute of a file in a vector store, in the payload of its passages. Names with quotes or backslashes have none. */
export function attributeKey(name: string): string | null {
  return /["\\]/.test(name) ? null : `attributes."${name}"`;
}

/** Passage of a vector store. It shows the attributes of its file alone. */
function storePassageOf(point: FoundPoint): ServerSource {
  const { attributes } = point.payload ?? {};
  return { ...passageOf(point), attributes: objectIn(attributes) };
}

/** A crawled page is cited by its address, other passages as a file. */
function passageOf({ id, score, payload }: FoundPoint): ServerSource {
  const { text, ...attributes } = payload ?? {};
  const { url, title, filename, source, file_id: file } = attributes;
  const names = [filename, title, source, url].filter((name) => typeof name === 'string' && name !== '');
  return {
    url: typeof url === 'string' && /^https?:/i.test(url) ? url : null,
    title: String(names[0] ?? id),
    quote: (typeof text === 'string' ? text : JSON.stringify(attributes)).slice(0, passageCharsMax).toWellFormed(),
    fileId: typeof file === 'string' ? file : String(id),
    score,
    attributes,
    age: null,
  };
}
