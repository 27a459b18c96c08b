import type { Principal } from '../../../books/auth/principal.ts';
import type { SharedTranscoder } from '../../../engines/audio/transcode.ts';
import { engineProvider } from '../../../engines/embedding-engine.ts';
import type { TranscriptionEngine } from '../../../engines/transcription-engine.ts';
import { type TranscriptionFacts, timestampsOf, translates } from '../../../formats/media/transcription/format.ts';
import type { RequestNeeds } from '../../../formats/neutral/request.ts';
import type { TranscriptionRequest } from '../../../formats/neutral/transcript.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import { noneCapable, noneServes, noneUsable, unmetNeed } from '../../../routing/capability.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import type { Alias } from '../../models/alias.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import { plainTarget } from '../../spine/plain-request.ts';
import type { TranscriptionServices } from './services.ts';
import { conversionTo, type SentAs, type UploadedSound } from './uploaded-sound.ts';

/** Candidates for one file, and how each transcribes it. */
export interface TranscriptionWay {
  alias: Alias;
  candidates: readonly RouteCandidate[];
  plans: ReadonlyMap<Target, TranscriptionPlan>;
}

export type TranscriptionPlan =
  /** `sendAs` null: the file unchanged. */
  | { kind: 'upstream'; facts: TranscriptionFacts; sendAs: SentAs | null }
  | { kind: 'engine'; engine: TranscriptionEngine };

type WayServices = Pick<TranscriptionServices, 'transcriptionEngines' | 'transcoder' | 'refusedFormats'>;

/**
 * The alias and its targets; a 404, 403 or 400 when it is unknown, not allowed, or none of them can do it, a 501 when
 * the file would have to be converted for each and this machine cannot.
 */
export function transcriptionWay(
  services: WayServices,
  snapshot: Snapshot,
  request: TranscriptionRequest,
  needs: RequestNeeds,
  sound: UploadedSound,
  principal: Principal,
): TranscriptionWay | Failure {
  const alias = snapshot.models.resolve(request.model, principal);
  if (isFailure(alias)) return alias;
  if (alias.candidates.length === 0) return noneUsable(alias.id);
  const plans = new Map<Target, TranscriptionPlan>();
  const able = transcribing(services, snapshot, alias, sound, plans);
  if (able.length === 0) {
    const endpoint = request.task === 'translate' ? 'translations' : 'transcriptions';
    return noneServes(alias, `serves /v1/audio/${endpoint}`, snapshot.models.list(principal), 'transcription');
  }
  const others = () =>
    snapshot.models.list(principal).map((other) => ({
      id: other.id,
      type: other.type,
      candidates: transcribing(services, snapshot, other, sound, new Map()),
    }));
  const incapable = noneCapable(alias, able, needs, others);
  if (incapable !== null) return incapable;
  let refused: Failure | null = null;
  const candidates = able.filter(({ target }) => {
    const refusal = refusalOf(knownEntry(plans, target), services.transcoder, sound);
    if (unmetNeed(target, needs) === null) refused ??= refusal;
    return refusal === null;
  });
  const stillIncapable = candidates.length === 0 ? refused : noneCapable(alias, candidates, needs, others);
  return stillIncapable === null ? { alias, candidates, plans } : (refused ?? stillIncapable);
}

/** The targets of a model that transcribe, as this endpoint sees them; `plans` gets how each does it. */
function transcribing(
  services: WayServices,
  snapshot: Snapshot,
  alias: Pick<Alias, 'type' | 'candidates'>,
  sound: UploadedSound,
  plans: Map<Target, TranscriptionPlan>,
): RouteCandidate[] {
  return alias.candidates.flatMap(({ target, rank }) => {
    const plan = planFor(services, snapshot, target, sound);
    if (plan === null) return [];
    const seen = asTranscribing(target, alias, plan, services.transcoder, sound);
    plans.set(seen, plan);
    return [{ target: seen, rank }];
  });
}

function planFor(
  { transcriptionEngines, refusedFormats }: WayServices,
  { providers }: Snapshot,
  { id, provider, model }: Target,
  sound: UploadedSound,
): TranscriptionPlan | null {
  if (provider === engineProvider) {
    const engine = transcriptionEngines.get(model);
    return engine === undefined ? null : { kind: 'engine', engine };
  }
  const facts = providers.get(provider)?.connection.transcription ?? null;
  return facts === null
    ? null
    : { kind: 'upstream', facts, sendAs: sendAs(facts, sound, refusedFormats.of('transcription', id)) };
}

/** Format for a conversion: none when the service accepts the file, or else a lossless one, or else the smallest. */
function sendAs(
  { containers, fileBytesMax }: TranscriptionFacts,
  { sniffed, bytes }: UploadedSound,
  refused: ReadonlySet<string>,
): SentAs | null {
  const reads = (extension: string) =>
    !refused.has(extension) && (containers === undefined || containers.includes(extension));
  const tooLarge = fileBytesMax !== undefined && bytes > fileBytesMax;
  if (reads(sniffed.extension)) return tooLarge && reads('mp3') ? 'mp3' : null;
  if (tooLarge && reads('mp3')) return 'mp3';
  return reads('flac') ? 'flac' : 'wav';
}

function refusalOf(plan: TranscriptionPlan, transcoder: Pick<SharedTranscoder, 'refusal'>, { sniffed }: UploadedSound) {
  if (plan.kind === 'engine' || plan.sendAs === null) return null;
  return transcoder.refusal(conversionTo(plan.sendAs, sniffed));
}

/** The same target as this endpoint sees it for this file. */
function asTranscribing(
  target: Target,
  { type }: Pick<Alias, 'type'>,
  plan: TranscriptionPlan,
  transcoder: Pick<SharedTranscoder, 'refusal'>,
  sound: UploadedSound,
): Target {
  const transcription =
    plan.kind === 'engine'
      ? { timestamps: 'words' as const, speakers: false, translates: plan.engine.translates, fileBytesMax: null }
      : {
          timestamps: timestampsOf(plan.facts, target.model),
          speakers: target.simulated || plan.facts.diarizes?.test(target.model) === true,
          translates: translates(plan.facts, target.model),
          // A file that is converted because it is too large is small then.
          fileBytesMax:
            plan.sendAs === 'mp3' && refusalOf(plan, transcoder, sound) === null
              ? null
              : (plan.facts.fileBytesMax ?? null),
        };
  return { ...plainTarget(target, 'transcription', type === 'transcription' ? 'shared' : 'own'), transcription };
}
