import type { Principal } from '../../../books/auth/principal.ts';
import { speechRateHz } from '../../../engines/audio/audio-format.ts';
import type { Conversion } from '../../../engines/audio/ffmpeg-arguments.ts';
import type { SharedTranscoder } from '../../../engines/audio/transcode.ts';
import { engineProvider } from '../../../engines/embedding-engine.ts';
import type { SpeechEngine } from '../../../engines/speech-engine.ts';
import type { SpeechFacts } from '../../../formats/media/speech/format.ts';
import { readVoice } from '../../../formats/media/speech/read-request.ts';
import {
  type FoundVoice,
  findVoice,
  isNewer,
  type VoiceFacts,
  voicesOf,
} from '../../../formats/media/speech/voices.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import { type AudioFormat, type SpeechRequest, standardVoices } from '../../../formats/neutral/speech.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonValue } from '../../../kernel/json.ts';
import { noneServes, noneUsable } from '../../../routing/capability.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import type { Alias } from '../../models/alias.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import { plainTarget } from '../../spine/plain-request.ts';
import type { SpeechServices } from './services.ts';

/** How one target is to speak one request. */
export interface SpeechPlan {
  source: SpeechSource;
  voice: FoundVoice;
  /** Format of the upstream's answer. */
  ask: AudioFormat;
  /** Sound is stretched here by this much; null: it comes in the pace that was asked for. */
  tempo: number | null;
  /** Losses that do not depend on the upstream's format. */
  losses: readonly Loss[];
}

export type SpeechSource = { kind: 'upstream'; facts: SpeechFacts } | { kind: 'engine'; engine: SpeechEngine };

/** Candidates for a request of speech, and how each speaks it. */
export interface SpeechWay {
  alias: Alias;
  candidates: readonly RouteCandidate[];
  plans: ReadonlyMap<Target, SpeechPlan>;
}

type WayServices = Pick<SpeechServices, 'speechEngines' | 'transcoder' | 'voiceLists' | 'refusedFormats'>;

/**
 * The alias and those of its targets that have the voice; a 404, 403 or 400 when it is unknown, not allowed, or none of
 * them can do it, a 501 when their formats cannot be converted on this machine.
 */
export async function speechWay(
  services: WayServices,
  snapshot: Snapshot,
  request: SpeechRequest,
  principal: Principal,
): Promise<SpeechWay | Failure> {
  const alias = snapshot.models.resolve(request.model, principal);
  if (isFailure(alias)) return alias;
  if (alias.candidates.length === 0) return noneUsable(alias.id);
  const speakers = speakersOf(services, snapshot, alias);
  if (speakers.length === 0)
    return noneServes(alias, 'serves /v1/audio/speech', snapshot.models.list(principal), 'speech');
  const providers = speakers.flatMap(({ provider }) => provider ?? []);
  // Whether a server that lists its voices has one of these depends on its list.
  if (isNewer(request.voice)) await services.voiceLists.refresh(providers.filter(services.voiceLists.isUnread));
  let planned = plan(services, alias, speakers, request);
  if (planned === 'no such voice') {
    // A server may have been given the voice since its list was read.
    await services.voiceLists.refresh(providers);
    planned = plan(services, alias, speakers, request);
  }
  return planned === 'no such voice' ? unknownVoice(services, alias, speakers, request) : planned;
}

/** One target that speaks. */
export interface Speaker extends RouteCandidate {
  source: SpeechSource;
  voices: VoiceFacts;
  /** Null for an engine of this process. */
  provider: string | null;
}

export function speakersOf(
  { speechEngines }: Pick<SpeechServices, 'speechEngines'>,
  { providers }: Snapshot,
  alias: Alias,
): Speaker[] {
  return alias.candidates.flatMap(({ target, rank }): Speaker[] => {
    const seen = { target: plainTarget(target, 'speech', alias.type === 'speech' ? 'shared' : 'own'), rank };
    if (target.provider === engineProvider) {
      const engine = speechEngines.get(target.model);
      if (engine === undefined) return [];
      const voices = { names: engine.voices, standard: engine.standardVoices };
      return [{ ...seen, source: { kind: 'engine', engine }, voices, provider: null }];
    }
    const facts = providers.get(target.provider)?.connection.speech ?? null;
    if (facts === null) return [];
    const voices = voicesOf(facts.voices, target.model);
    return [{ ...seen, source: { kind: 'upstream', facts }, voices, provider: target.provider }];
  });
}

function plan(
  { transcoder, voiceLists, refusedFormats }: WayServices,
  alias: Alias,
  speakers: readonly Speaker[],
  request: SpeechRequest,
): SpeechWay | Failure | 'no such voice' {
  const plans = new Map<Target, SpeechPlan>();
  const candidates: RouteCandidate[] = [];
  let refused: Failure | null = null;
  let voiceFound = false;
  for (const speaker of speakers) {
    const { target, rank, source } = speaker;
    const voice = voiceAt(voiceLists, alias, speaker, request);
    if (voice === null) continue;
    voiceFound = true;
    const form = formFor(transcoder, source, request, refusedFormats.of('speech', target.id));
    if (isFailure(form)) {
      refused ??= form;
      continue;
    }
    const lost: Loss[] = voice.how === 'instead' ? [{ field: 'voice', why: 'unsupported' }] : [];
    plans.set(target, { source, voice, ...form, losses: [...lost, ...form.losses] });
    // Another voice is better than none, and worse than the one that was asked for.
    candidates.push({ target, rank, awkward: voice.how === 'instead' });
  }
  if (candidates.length > 0) return { alias, candidates, plans };
  return voiceFound && refused !== null ? refused : 'no such voice';
}

/** Whether a model has a voice, as far as the lists of its servers were read. The 400 of a speech with it, if not. */
export function voiceRefusal(
  services: Pick<SpeechServices, 'speechEngines' | 'voiceLists' | 'snapshots'>,
  { model, voice }: { model: string; voice: JsonValue },
  principal: Principal,
): Failure | null {
  const snapshot = services.snapshots.current;
  const alias = snapshot.models.resolve(model, principal);
  const named = readVoice(voice);
  if (isFailure(alias)) return alias;
  if (isFailure(named)) return named;
  const { voiceLists } = services;
  const speakers = speakersOf(services, snapshot, alias);
  const providers = speakers.flatMap(({ provider }) => provider ?? []);
  if (speakers.some((speaker) => voiceAt(voiceLists, alias, speaker, named) !== null)) return null;
  const isUnread = providers.some(voiceLists.isUnread);
  // A server may have been given the voice since its list was read.
  void voiceLists.refresh(providers);
  return isUnread ? null : unknownVoice(services, alias, speakers, named);
}

/** A voice of the caller's own is known to OpenAI's format alone. */
function voiceAt(
  voiceLists: SpeechServices['voiceLists'],
  { voices: names }: Alias,
  { source, voices, provider }: Speaker,
  { voice, voiceKind }: Pick<SpeechRequest, 'voice' | 'voiceKind'>,
): FoundVoice | null {
  const mapped = names !== undefined && Object.hasOwn(names, voice) ? names[voice] : undefined;
  const listed = provider === null ? [] : voiceLists.known(provider);
  if (voiceKind === 'name') return findVoice(voice, voices, { mapped, listed });
  return source.kind === 'upstream' && source.facts.format === 'openai' ? { name: voice, how: 'as asked' } : null;
}

/** The best one of a target's formats to convert from: one that has its rate in its header comes first. */
export const bestToConvert: readonly AudioFormat[] = ['wav', 'pcm', 'flac', 'mp3', 'opus', 'aac'];

function formFor(
  transcoder: Pick<SharedTranscoder, 'refusal'>,
  source: SpeechSource,
  { format, speed }: SpeechRequest,
  refused: ReadonlySet<string>,
): Pick<SpeechPlan, 'ask' | 'tempo' | 'losses'> | Failure {
  const outputs = outputsOf(source, refused);
  const rateHz = source.kind === 'engine' ? source.engine.sampleRateHz : source.facts.pcmRateHz;
  const tempo = source.kind === 'upstream' && source.facts.speed === 'not taken' && speed !== 1 ? speed : null;
  const ask = outputs.includes(format) ? format : bestToConvert.find((one) => outputs.includes(one))!;
  const refusalOf = (tempoHere: number | null) => {
    const conversion = conversionOf({ format: ask, rateHz: rateHz ?? null }, format, tempoHere);
    return conversion === null ? null : transcoder.refusal(conversion);
  };
  if (refusalOf(tempo) === null) return { ask, tempo, losses: [] };
  // Speech in another pace is better than none.
  const refusal = refusalOf(null);
  return refusal ?? { ask, tempo: null, losses: [{ field: 'speed', why: 'unsupported' }] };
}

/** Formats that it can be asked for; a service that refused all known ones gave one of the others. */
function outputsOf(source: SpeechSource, refused: ReadonlySet<string>): readonly AudioFormat[] {
  if (source.kind === 'engine') return ['pcm'];
  const { outputs } = source.facts;
  if (refused.size === 0) return outputs;
  const left = outputs.filter((one) => !refused.has(one));
  return left.length > 0 ? left : bestToConvert.filter((one) => !refused.has(one));
}

/** The conversion that the sound needs; null: none. */
export function conversionOf(
  from: { format: AudioFormat; rateHz: number | null },
  to: AudioFormat,
  tempo: number | null,
): Conversion | null {
  const rateHz = from.format === 'pcm' ? (from.rateHz ?? speechRateHz) : null;
  if (from.format === to && tempo === null && (rateHz === null || rateHz === speechRateHz)) return null;
  return {
    from: { format: from.format, ...(rateHz !== null && { rateHz }) },
    to: { format: to },
    ...(tempo !== null && { tempo }),
  };
}

const voicesListedMax = 100;

function unknownVoice(
  services: Pick<SpeechServices, 'voiceLists'>,
  alias: Alias,
  speakers: readonly Speaker[],
  request: Pick<SpeechRequest, 'voice'>,
): Failure {
  const names = voiceNames(services, alias, speakers);
  const listed = names.slice(0, voicesListedMax).join(', ');
  const more =
    names.length > voicesListedMax ? ` and ${names.length - voicesListedMax} more (GET /v1/audio/voices)` : '';
  const requested = JSON.stringify(request.voice.slice(0, 64));
  return invalid('voice', `The model '${alias.id}' has no voice ${requested}. Its voices: ${listed}${more}.`);
}

/** Every voice that an alias can be asked for, in the caller's words: its own names first, then the standard ones. */
export function voiceNames(
  { voiceLists }: Pick<SpeechServices, 'voiceLists'>,
  alias: Pick<Alias, 'voices'>,
  speakers: readonly Speaker[],
): string[] {
  return [
    ...new Set([
      ...Object.keys(alias.voices ?? {}),
      ...standardVoices,
      ...speakers.flatMap(({ voices, provider }) => [
        ...voices.names,
        ...(provider === null ? [] : voiceLists.known(provider)),
      ]),
    ]),
  ];
}
