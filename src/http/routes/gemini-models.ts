import type { Services } from '../../inference/endpoints/services.ts';
import type { Alias } from '../../inference/models/alias.ts';
import { describedModel, listedModels } from '../../inference/models/ruled-names.ts';
import { invalid, isFailure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { callerOf, type Exchange } from '../exchange.ts';
import { writeJson } from '../write-json.ts';
import { refuseAsGoogle } from './google/refuse-as-google.ts';
import { answersOperation } from './google/videos.ts';

const pageDefault = 50;
const pageMax = 1_000;

/** `models.list` as Google has it: pages by `pageSize` and `pageToken`, which is the name that the next page begins behind. */
export function listGeminiModels(services: Services, exchange: Exchange): void {
  const query = new URLSearchParams(exchange.search);
  const size = Number(query.get('pageSize') ?? pageDefault);
  if (!Number.isInteger(size) || size < 1) {
    return refuseAsGoogle(services, exchange, invalid('pageSize', 'pageSize must be a whole number of at least 1.'));
  }
  const aliases = listedModels(services.snapshots.current, callerOf(exchange));
  const token = query.get('pageToken');
  const from = token === null || token === '' ? 0 : aliases.findIndex(({ id }) => id === token) + 1;
  if (token !== null && token !== '' && from === 0) {
    const message = 'pageToken: expected the nextPageToken of an earlier page. Leave it out for the first page.';
    return refuseAsGoogle(services, exchange, invalid('pageToken', message));
  }
  const page = aliases.slice(from, from + Math.min(size, pageMax));
  const isLast = from + page.length >= aliases.length;
  writeJson(exchange, 200, { models: page.map(entryOf), ...(!isLast && { nextPageToken: page.at(-1)!.id }) });
}

/** `models.get`, and the operations below a model. */
export async function describeGeminiModel(services: Services, exchange: Exchange): Promise<void> {
  if (await answersOperation(services, exchange)) return;
  const alias = describedModel(services.snapshots.current, exchange.params['*'] ?? '', callerOf(exchange));
  if (isFailure(alias)) return refuseAsGoogle(services, exchange, alias);
  writeJson(exchange, 200, entryOf(alias));
}

/** Limits are named where they are known: Google's clients take them for true. */
function entryOf({ id, listedAs, candidates }: Alias): JsonObject {
  const targets = candidates.filter(({ rank }) => rank === 0).map(({ target }) => target);
  const largest = (values: readonly (number | null)[]) => {
    const known = values.filter((value) => value !== null);
    return known.length === 0 ? undefined : Math.max(...known);
  };
  const inputTokenLimit = largest(targets.map(({ contextWindow }) => contextWindow));
  const outputTokenLimit = largest(targets.map(({ maxOutputTokens }) => maxOutputTokens));
  return {
    name: `models/${id}`,
    version: '001',
    displayName: id,
    ...(inputTokenLimit !== undefined && { inputTokenLimit }),
    ...(outputTokenLimit !== undefined && { outputTokenLimit }),
    supportedGenerationMethods: [...(methodsOf[listedAs] ?? [])],
    ...(listedAs === 'chat' && { thinking: targets.some(({ capabilities }) => capabilities.reasoning) }),
  };
}

/** Methods of these paths only: other abilities of a model have other endpoints. */
const methodsOf: Readonly<Record<string, readonly string[]>> = {
  chat: ['generateContent', 'streamGenerateContent', 'countTokens'],
  embedding: ['embedContent', 'batchEmbedContents'],
  speech: ['generateContent', 'streamGenerateContent'],
  image: ['generateContent', 'streamGenerateContent', 'predict'],
  video: ['predictLongRunning'],
};
