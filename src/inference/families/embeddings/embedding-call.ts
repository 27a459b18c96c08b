import { engineProvider } from '../../../engines/embedding-engine.ts';
import type { EmbeddingFacts } from '../../../formats/embeddings/format.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { Target } from '../../../routing/target.ts';
import type { ConfiguredProvider } from '../../models/connections.ts';
import { engineFacts } from '../../models/engine-target.ts';
import type { EmbeddingBody, EncodedEmbeddings } from './embedding-body.ts';

/** How a target that embeds is asked. */
export function embeddingFactsOf(providers: ReadonlyMap<string, ConfiguredProvider>, target: Target): EmbeddingFacts {
  if (target.provider === engineProvider) return engineFacts;
  const facts = providers.get(target.provider)?.connection.embeds ?? null;
  if (facts === null) throw new Error(`${target.provider} does not embed`);
  return facts;
}

/** One call of a target: its body for the inputs at these indexes. */
export async function encodeEmbeddingCall(
  body: EmbeddingBody,
  target: Target,
  { path: _, pathOf: __, singly: ___, ...facts }: EmbeddingFacts,
  places: readonly number[],
): Promise<EncodedEmbeddings> {
  const { model } = target;
  const dimensions = dimensionsToAsk(body, target);
  const encoded = await body.encode({ model, body: target.body, inputs: places, dimensions, facts });
  if (isFailure(encoded)) throw new Error('a request for embeddings could not be encoded');
  return encoded;
}

/** The caller's wish; else the alias's declaration, if the target surely understands it. */
function dimensionsToAsk({ facts }: EmbeddingBody, target: Target): number | null {
  const { dimensions, resizes } = target.embedding!;
  const requested = facts.needs.embedding!.dimensions;
  if (resizes === 'never') return null;
  return requested ?? (resizes === 'always' ? dimensions : null);
}
