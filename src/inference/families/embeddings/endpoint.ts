import type { Principal } from '../../../books/auth/principal.ts';
import { engineProvider } from '../../../engines/embedding-engine.ts';
import { empty } from '../../../formats/dialects/embeddings/read-request.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { tooLargeForLoop } from '../../../kernel/parse-object.ts';
import { noneCapable } from '../../../routing/capability.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import type { Alias } from '../../models/alias.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { Endpoint, Plan, Trials } from '../../spine/endpoint.ts';
import type { Job } from '../../spine/job.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import { type PlainWay, plainQuery, plainWay } from '../../spine/plain-request.ts';
import { readableBody } from '../../spine/readable-input.ts';
import type { RequestFacts } from '../../spine/request-body.ts';
import type { Bytes } from '../../spine/sink.ts';
import { type EmbeddingRun, EmbeddingTrial } from './embed-attempt.ts';
import { GatheredVectors, type Precision } from './embedding-batches.ts';
import {
  type EmbeddingBody,
  type EmbeddingBodyKind,
  type EmbeddingFactsOfBody,
  readEmbeddings,
} from './embedding-body.ts';
import type { EmbeddingServices } from './services.ts';

/** Embeddings: routed and metered like a conversation, over targets of one vector space. */
export function embeddingsEndpoint(
  services: EmbeddingServices,
  kind: EmbeddingBodyKind,
): Endpoint<Buffer, EmbeddingBody> {
  return {
    id: 'embeddings',
    cost: 'embeddings',
    read({ principal }, raw) {
      const here = readEmbeddings(raw, kind);
      return here === tooLargeForLoop ? services.bodies.readInThread(principal.tenant, raw, kind) : here;
    },
    filters: 'nothing',
    keeps: () => 'bytes',
    readable: (call, raw) => readableBody(services.bodies, call, raw, kind, (body) => body),
    content: (raw) => raw,
    plan(snapshot, call, { facts }) {
      const way = embeddingWay(snapshot, facts, call.principal);
      return isFailure(way) ? way : embeddingPlan(way, facts, call);
    },
    trials({ call, request, plan }, job) {
      const { encoding, answerForm, types } = request.facts;
      return embeddingTrials(services, job, request, plan.alias, 'double', (vectors) => {
        const answer = { ...vectors, model: plan.alias.id, encoding, ...(types !== undefined && { types }) };
        return services.embeddingCodec.encode(call.principal.tenant, answer, answerForm);
      });
    },
  };
}

/** The alias and its targets; a 404, 403 or 400 when it is unknown, not allowed, or none of them can do it. */
export function embeddingWay(
  snapshot: Snapshot,
  facts: RequestFacts & Pick<EmbeddingFactsOfBody, 'emptyAt'>,
  principal: Principal,
): PlainWay | Failure {
  const way = plainWay(snapshot, facts.model, principal, {
    name: 'embeddings',
    type: 'embedding',
    does: 'serves /v1/embeddings',
    serves: (target) => embeds(snapshot, target),
  });
  if (isFailure(way)) return way;
  const { alias } = way;
  const candidates = ofOneSpace(way.candidates);
  const { emptyAt } = facts;
  const judging = emptyAt === undefined ? candidates : judgesEmpty(snapshot, candidates);
  if (emptyAt !== undefined && judging.length === 0) return empty(emptyAt);
  return (
    noneCapable(alias, judging, facts.needs, () => snapshot.models.list(principal)) ?? { alias, candidates: judging }
  );
}

/** Candidates for an empty text: services of the caller's format, which judge it. Others refuse it or fail. */
function judgesEmpty({ providers }: Snapshot, candidates: readonly RouteCandidate[]): readonly RouteCandidate[] {
  return candidates.filter(({ target }) => providers.get(target.provider)?.connection.embeds?.format === 'openai');
}

function embeds({ providers }: Snapshot, { provider, embedding }: Target): boolean {
  if (embedding === undefined) return false;
  return provider === engineProvider || providers.get(provider)?.connection.embeds != null;
}

/**
 * Vectors of two spaces cannot be compared: callers of one model must never get both in turn. The configuration is
 * checked for that where it says `type: embedding`; for any other alias, targets outside the first target's space are
 * left out.
 */
function ofOneSpace(candidates: readonly RouteCandidate[]): readonly RouteCandidate[] {
  const space = candidates[0]?.target.embedding?.space ?? null;
  return space === null ? candidates.slice(0, 1) : candidates.filter(({ target }) => target.embedding?.space === space);
}

/** Every input's vector. */
export interface EmbeddedInputs {
  /** Row after row, in the order of the inputs. */
  rows: Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>;
  size: number;
  inputTokens: number;
}

/** `preferences`: of the caller. */
export function embeddingPlan(
  way: PlainWay,
  facts: RequestFacts,
  { preferences, principal }: Pick<ModelCall, 'preferences' | 'principal'>,
): Plan {
  const query = plainQuery(way, facts, preferences, principal.tenant);
  return { alias: way.alias, charged: way.alias, calls: 1, query, form: 'whole' };
}

/** `write` makes the answer's body of the vectors of all inputs. */
export function embeddingTrials(
  services: EmbeddingServices,
  job: Job,
  body: EmbeddingBody,
  { dimensions }: Pick<Alias, 'dimensions'>,
  precision: Precision,
  write: (vectors: EmbeddedInputs) => Promise<Bytes>,
): Trials {
  const { tokensEach, needs } = body.facts;
  const size = needs.embedding!.dimensions ?? dimensions;
  const gathered = new GatheredVectors(tokensEach.length, size, precision);
  const run: EmbeddingRun = {
    body,
    gathered,
    first: size === null ? (job.query.targets[0]?.target ?? null) : null,
    write() {
      const { rows, size, inputTokens } = gathered;
      return write({ rows: rows!, size, inputTokens });
    },
  };
  return { trial: (answer) => new EmbeddingTrial(services, job, run, answer) };
}
