import { embeddingRank, givesDimensions } from '../../formats/providers/embedding-models.ts';
import type { DiscoveredModel } from '../../formats/providers/provider.ts';
import type { ProviderConnection } from '../../formats/providers/provider-connection.ts';
import type { Target } from '../../routing/target.ts';
import type { ModelTableParts } from './alias.ts';

/** The embedding models that the contract promises (api.md §2.5): always there, whichever provider answers. */
export const contractEmbeddings: readonly string[] = (
  'alpha-embedding-small Alpha-Embedding-0.6B alpha-embedding beta-embeddings-v5 gamma-m3 ' + 'delta-embedqa-e5-v5'
).split(' ');

/** The size that it promises with them. */
export const contractDimensions = 1_024;

/** Models behind those that the configuration does not name itself. */
export type EmbeddingSource =
  /** An alias of the configuration. */
  | { kind: 'alias'; id: string }
  | { kind: 'model'; provider: string; model: DiscoveredModel }
  /** It may have a model for it. Until its list has come, nothing replaces it: vectors of two models do not mix. */
  | { kind: 'unheard'; provider: string }
  /** No provider has one. */
  | { kind: 'none' };

export type EmbeddingSourceParts = Pick<ModelTableParts, 'models' | 'providers' | 'known' | 'unheard'>;

/**
 * The first alias of the configuration that gives vectors of that size, or else the first provider with such a model.
 * The same sources give the same model whatever the order of a provider's list, because collections depend on it. Never
 * the simulator or an engine of this process, which are for those without a provider, or on request.
 */
export function embeddingSource(parts: EmbeddingSourceParts): EmbeddingSource {
  for (const [id, model] of Object.entries(parts.models)) {
    if (model.type !== 'embedding' || id.includes('*')) continue;
    const there = model.targets.filter(({ provider }) => parts.providers.get(provider)?.connection.embeds != null);
    if (there.length > 0 && giveContractSize(model.dimensions, there)) return { kind: 'alias', id };
  }
  for (const [provider, { simulated, connection }] of parts.providers) {
    if (simulated || connection.embeds === null) continue;
    const able = (parts.known.get(provider) ?? []).filter((model) => canGive(connection, model));
    const [model] = able.sort(byPreference);
    if (model !== undefined) return { kind: 'model', provider, model };
    if (parts.unheard.includes(provider)) return { kind: 'unheard', provider };
  }
  return { kind: 'none' };
}

/** The target as the contract's aliases ask it: for vectors of their size, unless it makes no others. */
export function ofContractSize(target: Target): Target {
  if (target.embedding === undefined) return target;
  const sendsSize =
    target.embedding.resizes !== 'never' && givesDimensions(target.model, contractDimensions) !== 'natively';
  const resizes = sendsSize ? 'always' : target.embedding.resizes;
  return { ...target, embedding: { ...target.embedding, dimensions: contractDimensions, resizes } };
}

/** Targets of embedding models that can never answer, since their provider makes no embeddings at all. */
export function embeddingProblems({ models, providers }: Pick<EmbeddingSourceParts, 'models' | 'providers'>): string[] {
  return Object.entries(models).flatMap(([id, { type, targets }]) =>
    targets.flatMap(({ provider }, i) => {
      const connection = type === 'embedding' ? providers.get(provider)?.connection : undefined;
      if (connection === undefined || connection.embeds !== null) return [];
      return [`models.${id}.targets[${i}]: ${provider} (${connection.provider.id}) has no embeddings`];
    }),
  );
}

function giveContractSize(declared: number | undefined, targets: readonly { model: string }[]): boolean {
  if (declared !== undefined) return declared === contractDimensions;
  return targets.every(({ model }) => givesDimensions(model, contractDimensions) !== 'never');
}

/** Whether it embeds in that size, natively or because its provider passes the option on. */
function canGive({ embeds }: ProviderConnection, { id, type }: DiscoveredModel): boolean {
  if (type !== 'embedding' || embeds === null) return false;
  const gives = givesDimensions(id, contractDimensions);
  if (gives !== 'reduced') return gives !== 'never';
  const { dimensions } = embeds;
  return dimensions === 'asked' || (dimensions !== 'never' && dimensions.test(id));
}

/** The best known family first; within one the smallest id, which a newer model does not change. */
function byPreference({ id: one }: DiscoveredModel, { id: other }: DiscoveredModel): number {
  return embeddingRank(one) - embeddingRank(other) || (one < other ? -1 : 1);
}
