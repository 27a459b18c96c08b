import type { Principal } from '../../auth/principal.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { Reservation } from '../../metering/admission.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import { engineProvider } from '../engines/embedding-engine.ts';
import type { RouteCandidate } from '../routing/route.ts';
import type { Target } from '../routing/target.ts';
import { noneCapable, noneUsable } from './capability.ts';
import type { ConversationBody, ConversationFacts, EmbeddingBodyKind } from './conversation-body.ts';
import { type EmbeddingRun, EmbeddingTrial } from './embed-attempt.ts';
import { GatheredVectors, type Precision } from './embedding-batches.ts';
import type { Job } from './job.ts';
import { claimOf, jobOf, type ModelCall, type RunCall, runKeyed, settleCall } from './model-call.ts';
import type { Alias } from './model-table.ts';
import { plainQuery } from './plain-request.ts';
import { runAttempts } from './run-attempts.ts';
import type { Services, Snapshot } from './services.ts';
import { type Bytes, refuse } from './sink.ts';

/**
 * The way of a request for embeddings; routed and metered like a conversation, over targets of one vector space. Ends
 * the caller's answer in every case.
 */
export async function runEmbeddings(services: Services, call: ModelCall, kind: EmbeddingBodyKind): Promise<void> {
  const reading = services.conversations.read(call.principal.tenant, call.body, kind);
  const read = reading instanceof Promise ? await reading : reading;
  if (!read.ok) return refuse(call.sink, read.failure, call.admitted.headers);
  await runKeyed(services, call, read.value, (keyed, body) => runRead(services, keyed, body));
}

/** From the model on. */
async function runRead(services: Services, call: ModelCall, body: ConversationBody): Promise<void> {
  const snapshot = services.snapshot();
  const refused = (failure: Failure) => refuse(call.sink, failure, call.admitted.headers);
  const { facts } = body;
  const way = embeddingWay(snapshot, facts, call.principal);
  if ('kind' in way) return refused(way);

  const claim = claimOf(call, snapshot, way.alias, way.alias, facts);
  const reserved = await services.admission.reserve(claim);
  if (reserved.kind !== 'reserved') return refused(reserved);

  const { encoding, answerForm } = facts.embedding!;
  const job = embeddingJob(services, snapshot, call, body, way, reserved, 'double', (vectors) => {
    const answer = { ...vectors, model: way.alias.id, encoding };
    return services.embeddingCodec.encode(call.principal.tenant, answer, answerForm);
  });
  try {
    await runAttempts(services, job);
  } finally {
    settleCall(services, call, claim, reserved, job);
  }
}

/** Who may answer a request for embeddings. */
export interface EmbeddingWay {
  alias: Alias;
  candidates: readonly RouteCandidate[];
}

/** The alias and its targets; a 404, 403 or 400 when it is unknown, not allowed, or none of them can do it. */
export function embeddingWay(
  snapshot: Snapshot,
  facts: ConversationFacts,
  principal: Principal,
): EmbeddingWay | Failure {
  const alias = snapshot.models.resolve(facts.model, principal);
  if ('kind' in alias) return alias;
  if (alias.candidates.length === 0) return noneUsable(alias.id);
  const candidates = ofOneSpace(alias.candidates.filter(({ target }) => embeds(snapshot, target))).map(
    ({ target, rank }) => ({ target: asEmbedding(target, alias), rank }),
  );
  if (candidates.length === 0) {
    return invalid('model', `No provider of the model '${alias.id}' serves /v1/embeddings. Use another model.`);
  }
  return noneCapable(alias.id, candidates, facts.needs) ?? { alias, candidates };
}

function embeds({ providers }: Snapshot, { provider, embedding }: Target): boolean {
  if (embedding === undefined) return false;
  return provider === engineProvider || providers.get(provider)?.connection.embeds != null;
}

/**
 * Vectors of two spaces cannot be compared: who asks for a model must never get them in turn. Configuration is checked
 * for that where it says `type: embedding`; of any other alias, whatever is not in the first target's space is left out.
 */
function ofOneSpace(candidates: readonly RouteCandidate[]): readonly RouteCandidate[] {
  const space = candidates[0]?.target.embedding?.space ?? null;
  return space === null ? candidates.slice(0, 1) : candidates.filter(({ target }) => target.embedding?.space === space);
}

/**
 * The same target as this endpoint sees it. Of an alias that is for something else, its health is its own: a model that
 * does not embed may well chat. Kept, since health knows targets again by identity.
 */
function asEmbedding(target: Target, { type }: Alias): Target {
  let seen = served.get(target);
  if (seen === undefined) {
    const health = type === 'embedding' ? {} : { healthId: `${target.id} (embeddings)` };
    seen = { ...target, dialect: openAiChat.id, alsoSpeaks: [], ...health };
    served.set(target, seen);
  }
  return seen;
}

const served = new WeakMap<Target, Target>();

/** Every input's vector. */
export interface EmbeddedInputs {
  /** Row after row, in the order of the inputs. */
  rows: Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>;
  size: number;
  inputTokens: number;
}

/** What a reserved request runs on. `write` makes the answer's body of the vectors of all inputs. */
export function embeddingJob(
  services: Services,
  snapshot: Snapshot,
  call: RunCall,
  body: ConversationBody,
  { alias, candidates }: EmbeddingWay,
  reserved: Reservation,
  precision: Precision,
  write: (vectors: EmbeddedInputs) => Promise<Bytes>,
): Job {
  const { facts } = body;
  const { needs, embedding } = facts;
  const gathered = new GatheredVectors(
    embedding!.tokensEach.length,
    needs.embedding!.dimensions ?? alias.dimensions,
    precision,
  );
  const run: EmbeddingRun = {
    body,
    gathered,
    write() {
      const { rows, size, inputTokens } = gathered;
      return write({ rows: rows!, size, inputTokens });
    },
  };
  const query = plainQuery({ alias, candidates }, facts, call.wishes, call.principal.tenant);
  return jobOf(services, snapshot, call, facts, alias, query, reserved, {
    trial: (job, answer) => new EmbeddingTrial(services, job, run, answer),
  });
}
