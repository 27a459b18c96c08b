import { costMilliOf } from '../../../books/metering/settlement.ts';
import type { StorageBook } from '../../../books/metering/storage/storage-book.ts';
import type { StorageHold } from '../../../books/metering/storage/storage-hold.ts';
import { forwardedEndpoints } from '../../../formats/dialects/forwarded/index.ts';
import type { TextRank } from '../../../formats/dialects/forwarded/rerank.ts';
import { sumOf } from '../../../formats/neutral/usage.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { RoomHold } from '../../../kernel/sharing/room.ts';
import type { Embedded, Prepared, VectorAnswer, VectorCall, VectorEngine } from '../../../vectors/vector-engine.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import { besideUsd } from '../../spine/beside-usd.ts';
import type { Plan } from '../../spine/endpoint.ts';
import type { Charge, HeldCall } from '../../spine/held-call.ts';
import type { JobProgress } from '../../spine/job.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import type { PlainWay } from '../../spine/plain-request.ts';
import { madeOrder, readableBody } from '../../spine/readable-input.ts';
import { abandoned, type Done, left, type ReadRequest, type WorkEndpoint, type WorkPlan } from '../../spine/work.ts';
import { embedTexts, type TextsToEmbed, textsBody } from '../embeddings/embed-texts.ts';
import type { EmbeddingBody } from '../embeddings/embedding-body.ts';
import { embeddingWay } from '../embeddings/endpoint.ts';
import type { EmbeddingServices } from '../embeddings/services.ts';
import { type RankedBy, rankPlan, rankTexts } from '../forwarded/rank-texts.ts';
import type { ForwardedServices } from '../forwarded/services.ts';

export type VectorServices = EmbeddingServices & ForwardedServices & { storage: StorageBook };

/** A call of the vector API. */
export interface VectorOrder extends Pick<VectorCall, 'verb' | 'params' | 'search' | 'body'> {
  /** Called once when the body has been read. */
  onRead?(): void;
  /** Counts memory that found points and the answer take until it is sent; absent: nobody does. */
  held?: Pick<RoomHold, 'add'>;
}

/** A checked call. It is run or dropped. */
export interface VectorRequest extends ReadRequest {
  prepared: Prepared;
  /** About what a call that adds will store. */
  bodyBytes: number;
  held: VectorOrder['held'];
  began: boolean;
  /** Room that is held for what it adds. */
  room: StorageHold | null;
}

export interface VectorPlan extends WorkPlan {
  embedding: Embedding | null;
  ranking: Ranking | null;
}

/** Texts of a call to embed. */
export interface Embedding {
  snapshot: Snapshot;
  way: PlainWay;
  body: EmbeddingBody;
  /** The vectors themselves are wanted, or their length alone. */
  result: 'vectors' | 'size';
  /** Length of a vector, where only that is wanted and it is known; else null. */
  size: number | null;
}

/** Model that ranks the results of a call. */
export interface Ranking {
  snapshot: Snapshot;
  by: RankedBy;
  plan: Plan;
  /** Milli-units of the call's that are its own. */
  costMilli: number;
}

export type VectorEndpoint = WorkEndpoint<VectorOrder, VectorRequest, VectorPlan>;

/** Text to embed when only the length of a model's vectors is wanted, and nobody declares it. */
const probeText = 'How long is a vector?';

/**
 * Calls of the vector store, and the texts that they embed and rank, as one charge. A call is charged after its body was
 * checked and before anything is done. On a full disk nothing can be recorded, but stored data can still be read.
 */
export function vectorEndpoint(services: VectorServices, engine: Pick<VectorEngine, 'prepare'>): VectorEndpoint {
  return {
    id: 'vectors',
    readable(call, { onRead, ...order }) {
      if (order.body.length === 0) return madeOrder('vectors', {}, () => order).readable();
      const { buffer, byteOffset, length } = order.body;
      const raw = Buffer.from(buffer, byteOffset, length);
      return readableBody(services.bodies, call, raw, 'vectors', (body) => ({ ...order, body }));
    },
    async read({ principal: { tenant, account } }, { onRead, held, ...order }) {
      const bodyBytes = order.body.length;
      // Its memory may go to the thread, and steps read it afterwards.
      const body = services.snapshots.current.steps === null ? order.body : Buffer.from(order.body);
      try {
        const prepared = await engine.prepare({ ...order, body, owner: { tenant, account } });
        if (prepared.kind !== 'prepared') return prepared;
        return { prepared, bodyBytes, held, began: false, room: null, release };
      } finally {
        onRead?.();
      }
    },
    plan(snapshot, call, request) {
      if (call.client.disconnected) return abandoned;
      return request.prepared.effect === 'adds'
        ? planAdding(services, snapshot, call, request)
        : planOf(snapshot, call, request.prepared);
    },
    async work({ call, request, plan: { embedding, ranking }, held }) {
      const parts: JobProgress[] = [];
      const embedded = embedding === null ? null : await embed(services, call, held, embedding, parts);
      // When no text was found, none was ranked.
      const unrankedMilli = held === null ? 0 : held.reserved.costMilli - (ranking?.costMilli ?? 0);
      if (call.client.disconnected) return endOf(left, parts, call, unrankedMilli);
      if (isFailure(embedded)) return endOf(embedded, parts, call, unrankedMilli);
      request.began = true;
      let doneMilli = unrankedMilli;
      const answer = await request.prepared.run(embedded, ({ texts, bytes }) => {
        request.held?.add(bytes);
        doneMilli = held?.reserved.costMilli ?? 0;
        return rank(services, call, held, ranking, texts, parts);
      });
      if (answer.kind === 'answer') request.held?.add(answer.body.byteLength);
      return endOf(answer, parts, call, doneMilli);
    },
  };
}

function release(this: VectorRequest): void {
  this.room?.release();
  if (!this.began) this.prepared.drop();
}

async function planAdding(
  { storage }: VectorServices,
  snapshot: Snapshot,
  call: ModelCall,
  request: VectorRequest,
): Promise<VectorPlan | Failure> {
  const room = await storage.expect(call.principal.account, request.bodyBytes);
  if (isFailure(room)) return room;
  request.room = room;
  return planOf(snapshot, call, request.prepared);
}

function planOf(snapshot: Snapshot, call: ModelCall, { texts, rerank, effect }: Prepared): VectorPlan | Failure {
  const embedding = texts === null ? null : embeddingOf(snapshot, call, texts);
  if (isFailure(embedding)) return embedding;
  const ranking = rerank === null ? null : rankingOf(snapshot, call, rerank, embedding);
  if (isFailure(ranking)) return ranking;
  const unbooked = effect === 'reads' && embedding === null && ranking === null;
  return { charge: chargeFor(snapshot, embedding, ranking), unbooked, embedding, ranking };
}

function embeddingOf(snapshot: Snapshot, { principal }: ModelCall, request: TextsToEmbed): Embedding | Failure {
  const sizeOnly = request.texts.length === 0;
  const empty = request.texts.indexOf('');
  if (empty !== -1) return invalid('text', `Text ${empty} of this call is empty, so there is nothing to embed.`);
  const body = textsBody(sizeOnly ? { ...request, texts: [probeText] } : request);
  const way = embeddingWay(snapshot, body.facts, principal);
  if (isFailure(way)) return way;
  const declared = way.alias.dimensions ?? way.candidates[0]?.target.embedding?.dimensions ?? null;
  return { snapshot, way, body, result: sizeOnly ? 'size' : 'vectors', size: sizeOnly ? declared : null };
}

/** One call counts in the limits of one tier: models of two cannot share it. */
function rankingOf(
  snapshot: Snapshot,
  { principal }: ModelCall,
  by: RankedBy,
  embedding: Embedding | null,
): Ranking | Failure {
  const plan = rankPlan(snapshot, principal, by);
  if (isFailure(plan)) return inField(plan, 'rerank.model');
  const { alias, charged } = plan;
  const embedder = embedding?.way.alias;
  if (embedder?.tier != null && charged.tier !== null && embedder.tier !== charged.tier) {
    const message = `The models '${embedder.id}' and '${alias.id}' count towards the limits of two tiers. Embed the text with /v1/embeddings, and send its vector.`;
    return invalid('rerank.model', message);
  }
  const costMilli = costMilliOf(snapshot.config.costs, forwardedEndpoints.rerank.cost, charged.cost);
  return { snapshot, by, plan, costMilli };
}

/** The failure of a model that another field than `model` names. */
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
    furtherModels: embedder === undefined || ranking === null ? undefined : [ranking.plan.alias.id],
  };
}

async function embed(
  services: VectorServices,
  call: ModelCall,
  held: HeldCall | null,
  { snapshot, way, body, result, size }: Embedding,
  parts: JobProgress[],
): Promise<Embedded | Failure> {
  if (size !== null) return { size, vectors: new Float32Array(0) };
  if (held === null) throw new Error('nothing is held for texts to embed');
  const { outcome, progress } = await embedTexts(services, snapshot, call, { body, way, reserved: held.reserved });
  parts.push(progress);
  return isFailure(outcome) || result === 'vectors' ? outcome : { size: outcome.size, vectors: new Float32Array(0) };
}

async function rank(
  services: VectorServices,
  call: ModelCall,
  held: HeldCall | null,
  ranking: Ranking | null,
  texts: readonly string[],
  parts: JobProgress[],
): Promise<readonly TextRank[] | Failure> {
  if (held === null || ranking === null) throw new Error('nothing is held for texts to rank');
  const { snapshot, by, plan } = ranking;
  const { outcome, progress } = await rankTexts(services, snapshot, call, { by, plan, reserved: held.reserved }, texts);
  parts.push(progress);
  return outcome;
}

function endOf(
  answer: VectorAnswer | Failure | typeof left,
  parts: JobProgress[],
  call: ModelCall,
  doneMilli: number,
): Done {
  const [first, then] = parts;
  const progress = first !== undefined && then !== undefined ? joined(first, then, call.atMs) : first;
  const end = { lasting: true, doneMilli, progress };
  if (isFailure(answer)) return { ...end, body: null, failure: answer };
  if (!('kind' in answer)) return { ...left, ...end };
  const { buffer, byteOffset, byteLength } = answer.body;
  return { ...end, body: Buffer.from(buffer, byteOffset, byteLength), failure: null };
}

/** The attempts at both models, and what both used; answered by the first. */
function joined(first: JobProgress, then: JobProgress, atMs: number): JobProgress {
  const both = {
    ...first,
    attempts: [...first.attempts, ...then.attempts],
    losses: [...first.losses, ...then.losses],
    verdicts: [...first.verdicts, ...then.verdicts],
    usage: then.usage === null ? first.usage : sumOf(first.usage, then.usage),
    usageSource: then.usageSource === 'upstream' || then.usage === null ? first.usageSource : then.usageSource,
  };
  return { ...both, besideUsd: besideUsd([first, then], both, atMs) };
}
