import { aliasFor } from '../../config/alias-pattern.ts';
import type { Config, ModelType } from '../../config/schema.ts';
import type { DiscoveredModel } from '../../formats/providers/provider.ts';
import type { Alias } from './alias.ts';
import { contractDimensions, contractEmbeddings, type EmbeddingSource, ofContractSize } from './contract-embeddings.ts';
import {
  contractMedia,
  exampleMedia,
  type MediaSource,
  type MediaSources,
  type MediaType,
  mediaTypes,
  modelFor,
} from './contract-media.ts';
import { soundEngineAlias } from './engine-target.ts';

export interface PromisedParts {
  models: Config['models'];
  /** Models of configuration, providers and engines. */
  aliases: ReadonlyMap<string, Alias>;
  embedding: EmbeddingSource;
  media: MediaSources;
  aliasOfKnown(provider: string, model: DiscoveredModel): Alias;
  /** The simulator's model of this type; null when it has none. */
  simulated(type: ModelType): Alias | null;
  nowS: number;
}

/** The contract's models, as far as the configuration does not name them, by a pattern of their type either. */
export function promisedAliases(parts: PromisedParts): Alias[] {
  return [...embeddingAliases(parts), ...mediaTypes.flatMap((type) => mediaAliases(type, parts))];
}

/** The source that a promised model waits for while it is missing; null for a name that nobody promised. */
export function promisedSource(id: string, { embedding, media }: Pick<PromisedParts, 'embedding' | 'media'>) {
  if (contractEmbeddings.includes(id)) return embedding;
  const type = mediaTypes.find((one) => contractMedia[one].includes(id));
  return type === undefined ? null : media[type];
}

function isFree(id: string, type: ModelType, { aliases, models }: PromisedParts): boolean {
  return !aliases.has(id) && aliasFor(models, id)?.model.type !== type;
}

function embeddingAliases(parts: PromisedParts): Alias[] {
  const behind = behindEmbedding(parts);
  if (behind === null) return [];
  const shared = {
    dimensions: contractDimensions,
    listedDimensions: contractDimensions,
    listedAs: 'embedding',
  } as const;
  const candidates = behind.candidates.map(({ target, rank }) => ({ target: ofContractSize(target), rank }));
  return contractEmbeddings
    .filter((id) => isFree(id, 'embedding', parts))
    .map((id) => ({ ...behind, id, ...shared, candidates }));
}

function behindEmbedding({ embedding, aliases, aliasOfKnown, simulated }: PromisedParts): Alias | null {
  switch (embedding.kind) {
    case 'alias':
      return aliases.get(embedding.id) ?? null;
    case 'model':
      return aliasOfKnown(embedding.provider, embedding.model);
    case 'unheard':
      return null;
    case 'none':
      return simulated('embedding');
  }
}

function mediaAliases(type: MediaType, parts: PromisedParts): Alias[] {
  const { kind } = parts.media[type];
  const examples = kind === 'none' || kind === 'engine' ? exampleMedia[type] : [];
  return [...contractMedia[type], ...examples].flatMap((id) => {
    const behind = isFree(id, type, parts) ? behindMedia(id, type, parts.media[type], parts) : null;
    return behind === null ? [] : [{ ...behind, id, listedAs: type }];
  });
}

function behindMedia(id: string, type: MediaType, source: MediaSource, parts: PromisedParts): Alias | null {
  switch (source.kind) {
    case 'alias':
      return parts.aliases.get(source.id) ?? null;
    case 'models':
      return parts.aliasOfKnown(source.provider, modelFor(id, type, source.models));
    case 'engine':
      return type === 'image' ? null : soundEngineAlias(type, source.model, parts.nowS);
    case 'unheard':
      return null;
    case 'none':
      return parts.simulated(type);
  }
}
