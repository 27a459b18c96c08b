import type { JsonObject } from '../../../kernel/json.ts';
import { type Loss, lossesOfRest } from '../../neutral/loss.ts';
import type { AudioFormat, SpeechRequest } from '../../neutral/speech.ts';
import type { Usage } from '../../neutral/usage.ts';
import type { VoiceFacts } from './voices.ts';

/** The formats in which upstreams are asked to speak. */
export type SpeechDialectId = 'openai' | 'gemini' | 'elevenlabs' | 'deepgram' | 'cartesia' | 'fish' | 'mistral';

/** One of them. Pure: no I/O, no clock. */
export interface SpeechDialect {
  id: SpeechDialectId;
  encode(order: SpeechOrder): EncodedSpeech;
  /** `bytes`: the body is the sound; otherwise it is base64 inside JSON of that vendor, or events of it. */
  answer: 'bytes' | 'gemini' | 'mistral';
}

/** Contents of an event, or of a whole answer. */
export interface SoundEvent {
  /** Null when there is none in it. */
  sound: Buffer | null;
  /** Samples a second; null when it does not say. */
  rateHz: number | null;
  /** Why it said no more; null while it goes on. */
  finish: string | null;
  usage: Usage | null;
}

export interface SpeechOrder {
  /** Upstream model id. */
  model: string;
  /** The upstream's name of it. */
  voice: string;
  /** Format of its answer. */
  format: AudioFormat;
  request: SpeechRequest;
  facts: SpeechFacts;
  apiVersion: string | null;
}

export interface EncodedSpeech {
  /** Path and query below the base URL. */
  path: string;
  /** Header in addition to those that every call has. */
  header?: readonly [name: string, value: string];
  body: JsonObject;
  losses: Loss[];
}

/** Facts of a service that speaks, as data. */
export interface SpeechFacts {
  format: SpeechDialectId;
  /** Below the base URL. */
  path: string;
  /** Same as `path`, if it depends on the model; takes precedence. */
  pathOf?: (model: string, options: { apiVersion: string | null }) => string;
  /** Its output formats; any other is converted from one of these. */
  outputs: readonly AudioFormat[];
  /** Samples a second of its `pcm`; absent: 24,000. */
  pcmRateHz?: number;
  /** By model; the first that fits. */
  voices: readonly VoiceFacts[];
  /** GET below the base URL that lists more of them, as OpenAI-like servers do. */
  voiceList?: string;
  /** OpenAI's format only: models that send sound in events, the last of which says what it costs; absent: none. */
  events?: RegExp | undefined;
  /** Without it sound is stretched here. */
  speed: 'taken' | 'not taken';
  instructions: 'taken' | 'not taken';
}

/** Members that each format takes, or that are seen to before one is asked. */
const taken: ReadonlySet<string> = new Set<keyof SpeechRequest>([
  'model',
  'input',
  'characters',
  'voice',
  'voiceKind',
  'format',
  'speed',
  'instructions',
  'delivery',
  'extra',
]);

/** Losses of a request at a service. `extra: 'taken'`: unknown members go on unchanged. */
export function lossesOf({ request, facts }: SpeechOrder, { extra }: { extra: 'taken' | 'lost' }): Loss[] {
  const losses = lossesOfRest(request, taken);
  if (request.instructions !== null && facts.instructions === 'not taken') {
    losses.push({ field: 'instructions', why: 'unsupported' });
  }
  if (extra === 'lost') for (const field in request.extra) losses.push({ field, why: 'unknown' });
  return losses;
}
