import { costMilliOf } from '../../../books/metering/settlement.ts';
import { type Loss, lossHeader } from '../../../formats/neutral/loss.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import { explainRoute } from '../../../routing/explain.ts';
import type { Target } from '../../../routing/target.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { ExplainedRequest, Question, SentBody } from '../../spine/explained.ts';
import { explainRules, plainReadable } from '../../spine/explained-rules.ts';
import { batchesOf } from './embedding-batches.ts';
import { type EmbeddingBody, readEmbeddings } from './embedding-body.ts';
import { embeddingFactsOf, encodeEmbeddingCall } from './embedding-call.ts';
import { embeddingPlan, embeddingWay } from './endpoint.ts';

/** The way that a body would take at `/v1/embeddings`, by the same code, without sending anything. */
export async function explainEmbeddings(question: Question): Promise<ExplainedRequest | Failure> {
  const { snapshot, preferences, health, nowMs } = question;
  const request = readEmbeddings(question.raw, 'embeddings');
  if (isFailure(request)) return request;
  const ruled =
    snapshot.rules === null ? null : await explainRules(snapshot, endpoint, question, question.raw, request);
  if (isFailure(ruled)) return ruled;
  const body = ruled?.value ?? request;
  const principal = ruled?.call.principal ?? question.principal;
  const { facts } = body;
  const way = embeddingWay(snapshot, facts, principal);
  if (isFailure(way)) return way;
  const { alias, charged, query } = embeddingPlan(way, facts, { preferences, principal });
  const route = explainRoute(query, health, nowMs);
  const byId = new Map(query.targets.map(({ target }) => [target.id, target]));
  return {
    kind: 'explained',
    ...(ruled?.call.rules !== undefined && { rules: ruled.call.rules }),
    barred: alias.barred ?? [],
    alias: alias.id,
    endpoint: 'embeddings',
    stream: false,
    cost: costMilliOf(snapshot.config.costs, 'embeddings', charged.cost) / 1_000,
    attemptsMax: preferences.fallback === 'off' ? 1 : alias.attempts,
    hedgedWhen: [],
    inputTokensEstimate: facts.needs.inputTokensEstimate,
    upstreamRequests: 1,
    cache: null,
    candidates: await Promise.all(
      route.candidates.map(async (candidate) => {
        const target = knownEntry(byId, candidate.target);
        const sent = await wouldSend(snapshot, body, target);
        return { ...candidate, simulated: target.simulated, sent, why: null };
      }),
    ),
    unmet: route.unmet,
  };
}

/** The endpoint, as rules see it. */
const endpoint = {
  id: 'embeddings',
  read: (_: unknown, raw: Buffer) => readEmbeddings(raw, 'embeddings'),
  readable: (_: unknown, raw: Buffer) => plainReadable(raw, 'embeddings'),
};

async function wouldSend({ providers }: Snapshot, body: EmbeddingBody, target: Target): Promise<SentBody> {
  const facts = embeddingFactsOf(providers, target);
  const { tokensEach } = body.facts;
  const batches = batchesOf([...tokensEach.keys()], tokensEach, target.embedding!);
  let bytes = 0;
  let losses: readonly Loss[] = [];
  for (const places of batches) {
    const encoded = await encodeEmbeddingCall(body, target, facts, places);
    bytes += Buffer.byteLength(encoded.bytes);
    losses = encoded.losses;
  }
  return {
    answer: 'converted',
    dialect: facts.format,
    calls: batches.length,
    bytes,
    dropped: lossHeader(losses) || null,
  };
}
