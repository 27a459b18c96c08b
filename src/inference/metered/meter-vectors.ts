import { type Failure, invalid } from '../../kernel/failure.ts';
import { costMilliOf } from '../../metering/quota.ts';
import type { StorageHold } from '../../metering/storage-hold.ts';
import { forwardedEndpoints } from '../dialects/forwarded/index.ts';
import { type TextsToEmbed, textsBody } from '../embeddings/embed-texts.ts';
import { embeddingWay } from '../embeddings/endpoint.ts';
import { type RankedBy, rankPlan } from '../forwarded/rank-texts.ts';
import type { Snapshot } from '../models/snapshot.ts';
import { type Charge, holdCall } from '../spine/held-call.ts';
import type { VectorCallHold, VectorMeterCall, VectorServices } from './vector-hold.ts';
import { type Embedding, Hold, type Ranking } from './vector-hold.ts';

/**
 * Cost of vector calls, and how their texts are embedded and ranked. A call is charged after its body was checked and
 * before anything is done. The port that `src/vectors/meter.ts` describes. Rejects only for a fault of ours, which the
 * server logs.
 */
export interface VectorCallMeter {
  hold(call: VectorMeterCall, needs: VectorCallNeeds): Promise<VectorCallHold | Failure>;
}

/** Models that a call needs, and its effect on the stored data: none, growth, or change and removal. */
export interface VectorCallNeeds {
  texts: TextsToEmbed | null;
  rerank: RankedBy | null;
  effect: 'reads' | 'adds' | 'changes';
  /** About what a call that adds will store. */
  bodyBytes: number;
}

/** Text to embed when only the length of a model's vectors is wanted, and nobody declares it. */
const probeText = 'How long is a vector?';

export function createVectorMeter(services: VectorServices): VectorCallMeter {
  return {
    async hold(call, needs) {
      if (needs.effect !== 'adds') return holdVectorCall(services, call, needs, null);
      const room = await services.storage.expect(call.principal.account, needs.bodyBytes);
      if ('kind' in room) return room;
      const hold = await holdVectorCall(services, call, needs, room);
      if (hold.kind !== 'held') room.release();
      return hold;
    },
  };
}

/** `room`: held for what it adds. */
async function holdVectorCall(
  services: VectorServices,
  call: VectorMeterCall,
  { texts, rerank, effect }: VectorCallNeeds,
  room: StorageHold | null,
): Promise<VectorCallHold | Failure> {
  const snapshot = services.snapshot();
  const embedding = texts === null ? null : embeddingOf(snapshot, call, texts);
  if (embedding !== null && 'kind' in embedding) return embedding;
  const ranking = rerank === null ? null : rankingOf(snapshot, call, rerank, embedding);
  if (ranking !== null && 'kind' in ranking) return ranking;
  const held = await holdCall(services, call, chargeFor(snapshot, embedding, ranking));
  if (held.kind !== 'held') {
    const isFree = effect === 'reads' && embedding === null && ranking === null;
    return isFree && held.kind === 'quota-unavailable' && held.cause === 'disk-full' ? unbooked : held;
  }
  return new Hold(services, call, held, { embedding, ranking, room });
}

/** On a full disk nothing can be recorded, but stored data can still be read: within the limits of a minute. */
const unbooked: VectorCallHold = {
  kind: 'held',
  headers: [],
  async embed() {
    throw new Error('there is nothing to embed');
  },
  async rank() {
    throw new Error('there is nothing to rank');
  },
  settle() {},
};

function embeddingOf(snapshot: Snapshot, { principal }: VectorMeterCall, asked: TextsToEmbed): Embedding | Failure {
  const sizeOnly = asked.texts.length === 0;
  const empty = asked.texts.indexOf('');
  if (empty !== -1) return invalid('text', `Text ${empty} of this call is empty, so there is nothing to embed.`);
  const body = textsBody(sizeOnly ? { ...asked, texts: [probeText] } : asked);
  const way = embeddingWay(snapshot, body.facts, principal);
  if ('kind' in way) return way;
  const declared = way.alias.dimensions ?? way.candidates[0]?.target.embedding?.dimensions ?? null;
  return { snapshot, way, body, wanted: sizeOnly ? 'size' : 'vectors', size: sizeOnly ? declared : null };
}

/** One call counts in the limits of one tier: models of two cannot share it. */
function rankingOf(
  snapshot: Snapshot,
  { principal }: VectorMeterCall,
  by: RankedBy,
  embedding: Embedding | null,
): Ranking | Failure {
  const plan = rankPlan(snapshot, principal, by);
  if ('kind' in plan) return inField(plan, 'rerank.model');
  const { alias, charged } = plan;
  const embedder = embedding?.way.alias;
  if (embedder?.tier != null && charged.tier !== null && embedder.tier !== charged.tier) {
    const message = `The models '${embedder.id}' and '${alias.id}' count towards the limits of two tiers. Embed the text with /v1/embeddings, and send its vector.`;
    return invalid('rerank.model', message);
  }
  const costMilli = costMilliOf(snapshot.config.costs, forwardedEndpoints.rerank.cost, charged.cost);
  return { snapshot, by, plan, costMilli };
}

/** The failure of a model that stands in another field than `model`. */
function inField(failure: Failure, param: string): Failure {
  switch (failure.kind) {
    case 'model-unknown':
    case 'model-not-in-plan':
    case 'not-found':
    case 'invalid-request':
      return { ...failure, param };
    default:
      return failure;
  }
}

/** The call's own cost and those of embedding and reranking, as one. */
function chargeFor({ config }: Snapshot, embedding: Embedding | null, ranking: Ranking | null): Charge {
  const runs = embedding !== null && embedding.size === null ? embedding : null;
  const embedder = runs?.way.alias;
  const embeddingMilli = embedder === undefined ? 0 : costMilliOf(config.costs, 'embeddings', embedder.cost);
  const rankTokens = ranking?.plan.query.needs.inputTokensEstimate ?? 0;
  return {
    endpoint: 'vectors',
    alias: (embedder ?? ranking?.plan.alias)?.id ?? '',
    tier: embedder?.tier ?? ranking?.plan.charged.tier ?? null,
    costMilli: costMilliOf(config.costs, 'vectors') + embeddingMilli + (ranking?.costMilli ?? 0),
    inputTokensEstimate: (runs?.body.facts.needs.inputTokensEstimate ?? 0) + rankTokens,
  };
}
