import { readError } from '../dialects/openai-chat/errors.ts';
import type { FaultClass } from '../neutral/outcome.ts';
import { classifyError } from './classify.ts';
import type { DiscoveredModel } from './provider.ts';
import type { ProviderConnection } from './provider-connection.ts';
import { listedModelsMax, readModelList } from './read-model-list.ts';
import { scrub } from './scrub.ts';

/** A GET to a provider: the parsed JSON body, or undefined when it was not JSON. Rejects when no answer came. */
export type DiscoveryGet = (connection: ProviderConnection, path: string) => Promise<{ status: number; body: unknown }>;

export type Discovery =
  | { ok: true; models: readonly DiscoveredModel[] }
  /** `not-listed`: this service has no list; its models must be named in the configuration. */
  /** `detail`: the provider's own words, scrubbed; absent where it had none. */
  | { ok: false; reason: FaultClass | 'not-listed'; message: string; detail?: string };

/** Path of a connection's list of models, from the origin; null when the service has none. */
export function modelsPath(connection: ProviderConnection): string | null {
  const { models, originModels } = connection.provider.paths;
  if (originModels !== undefined) return originModels;
  return models === null ? null : connection.basePath + models;
}

/**
 * Models of one provider, read from its own list. Never rejects. Its only I/O is `get`, which has its own timeout and
 * size limit; at most `listedModelsMax` models come back.
 */
export async function discoverModels(connection: ProviderConnection, get: DiscoveryGet): Promise<Discovery> {
  const { provider, name } = connection;
  const path = modelsPath(connection);
  if (path === null) return { ok: false, reason: 'not-listed', message: `${provider.title} has no list of models` };
  let answer = await attempt(connection, path, get);
  // An older server may lack the richer list, and have the OpenAI one alone.
  const { models: belowBase } = provider.paths;
  if (isMissing(answer) && provider.paths.originModels !== undefined && belowBase !== null) {
    answer = await attempt(connection, connection.basePath + belowBase, get);
  }
  if (answer === null) return { ok: false, reason: 'transient', message: `${name} did not answer` };
  if (provider.paths.mayRefuseModels === true && [400, 403, 404].includes(answer.status)) {
    return { ok: false, reason: 'not-listed', message: `${name} shows no list of models to this key` };
  }
  if (answer.status !== 200) {
    const error = readError(answer.body);
    const reason = classifyError(provider, answer.status, error);
    return {
      ok: false,
      reason,
      message: `${name} answered ${answer.status} when asked for its models`,
      ...(error !== null && { detail: scrub(error.message, connection) }),
    };
  }
  const models = provider.listModels === undefined ? readModelList(answer.body) : provider.listModels(answer.body);
  if (models === null) return { ok: false, reason: 'malformed', message: `${name} sent no list of models` };
  const more = await moreModels(connection, get);
  return { ok: true, models: [...models, ...more].slice(0, listedModelsMax) };
}

/** Models of the lists after the first; one that cannot be had is left out. */
async function moreModels(connection: ProviderConnection, get: DiscoveryGet): Promise<DiscoveredModel[]> {
  const { paths, listModels = readModelList } = connection.provider;
  const lists = (paths.moreModels ?? []).map((path) => attempt(connection, connection.basePath + path, get));
  return (await Promise.all(lists)).flatMap((answer) =>
    answer?.status === 200 ? (listModels(answer.body) ?? []) : [],
  );
}

type Answer = { status: number; body: unknown } | null;

async function attempt(connection: ProviderConnection, path: string, get: DiscoveryGet): Promise<Answer> {
  try {
    return await get(connection, path);
  } catch {
    return null;
  }
}

// LM Studio answers a path it does not know with 200 and an error object.
function isMissing(answer: Answer): boolean {
  return answer !== null && (answer.status === 404 || (answer.status === 200 && readModelList(answer.body) === null));
}
