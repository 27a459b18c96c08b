import { engineProvider } from '../../engines/embedding-engine.ts';
import { imageModelFacts } from '../../formats/media/images/format.ts';
import type { DiscoveredModel } from '../../formats/providers/provider.ts';
import type { ProviderConnection } from '../../formats/providers/provider-connection.ts';
import type { EmbeddingSourceParts } from './contract-embeddings.ts';

/** Media other than text and vectors. */
export type MediaType = 'speech' | 'transcription' | 'image';

export const mediaTypes: readonly MediaType[] = ['speech', 'transcription', 'image'];

/**
 * The models that the contract promises (api.md §4.5, §4.6): always there, whichever provider answers. It names none
 * for pictures.
 */
export const contractMedia: Readonly<Record<MediaType, readonly string[]>> = {
  speech: ['tts-1'],
  transcription: ['stt-large-v3-turbo', 'stt-large-v3', 'stt-1'],
  image: [],
};

/** Names that everybody's examples ask for: there too while no provider could have them. */
export const exampleMedia: Readonly<Record<MediaType, readonly string[]>> = {
  speech: [],
  transcription: ['whisper-1'],
  image: [],
};

/** Models behind those that the configuration does not name itself. */
export type MediaSource =
  /** An alias of the configuration. */
  | { kind: 'alias'; id: string }
  /** Models in a provider's list; `modelFor` chooses among them. */
  | { kind: 'models'; provider: string; models: readonly DiscoveredModel[] }
  /** It may have a model for it: until its list has come, nothing replaces it. */
  | { kind: 'unheard'; provider: string }
  /** An engine of this machine. */
  | { kind: 'engine'; model: string }
  | { kind: 'none' };

export type MediaSources = Readonly<Record<MediaType, MediaSource>>;

export interface MediaSourceParts extends EmbeddingSourceParts {
  /** The best comes first. Absent: none. */
  speechEngines?: ReadonlyMap<string, unknown>;
  transcriptionEngines?: ReadonlyMap<string, unknown>;
}

export function mediaSources(parts: MediaSourceParts): MediaSources {
  return {
    speech: mediaSource('speech', parts),
    transcription: mediaSource('transcription', parts),
    image: mediaSource('image', parts),
  };
}

/**
 * The first alias of the configuration for it, or else the first provider with a model for it, or else an engine of
 * this machine. Never the simulator, which is for those without any.
 */
export function mediaSource(type: MediaType, parts: MediaSourceParts): MediaSource {
  const engines = enginesFor(type, parts);
  for (const [id, model] of Object.entries(parts.models)) {
    if (model.type !== type || id.includes('*')) continue;
    const isThere = ({ provider, model }: { provider: string; model: string }) =>
      provider === engineProvider ? engines.includes(model) : parts.providers.has(provider);
    if (model.targets.some(isThere)) return { kind: 'alias', id };
  }
  for (const [provider, { simulated, connection }] of parts.providers) {
    if (simulated || !mayServe(type, connection)) continue;
    const models = (parts.known.get(provider) ?? []).filter((model) => serves(type, connection, model));
    if (models.length > 0) return { kind: 'models', provider, models };
    if (parts.unheard.includes(provider)) return { kind: 'unheard', provider };
  }
  const [engine] = engines;
  return engine === undefined ? { kind: 'none' } : { kind: 'engine', model: engine };
}

/** The model of a provider for one of the contract's; the smallest id among equals, whatever a list's order. */
export function modelFor(alias: string, type: MediaType, models: readonly DiscoveredModel[]): DiscoveredModel {
  const patterns = [...(patternsOfAlias[alias] ?? []), ...usualFor[type]];
  const rank = ({ id }: DiscoveredModel) => {
    const at = patterns.findIndex((pattern) => pattern.test(id.toLowerCase()));
    return at < 0 ? patterns.length : at;
  };
  return models.toSorted((one, other) => rank(one) - rank(other) || (one.id < other.id ? -1 : 1))[0]!;
}

/** The models that the contract's names come from, wherever they run. */
const patternsOfAlias: Readonly<Record<string, readonly RegExp[]>> = {
  'stt-large-v3-turbo': [/whisper-large-v3-turbo$/, /large-v3-turbo/],
  'stt-large-v3': [/whisper-large-v3$/, /large-v3(?!-turbo)/],
  'stt-1': [/whisper-1$/],
};

/** Whisper first: the contract's answers have segments, which newer models do not tell. */
const usualFor: Readonly<Record<MediaType, readonly RegExp[]>> = {
  speech: [/^tts-1$/, /kokoro/, /^tts-1-hd$/, /(^|-)tts$/, /tts/],
  transcription: [/whisper-large-v3-turbo/, /whisper-1$/, /(^|\/)whisper/, /gpt-transcribe$/],
  image: [/^gpt-image/, /^imagen/],
};

function enginesFor(type: MediaType, { speechEngines, transcriptionEngines }: MediaSourceParts): string[] {
  const engines = { speech: speechEngines, transcription: transcriptionEngines, image: undefined }[type];
  return [...(engines?.keys() ?? [])];
}

/** Whether the service has that endpoint at all. */
function mayServe(type: MediaType, { speech, transcription, images }: ProviderConnection): boolean {
  return { speech, transcription, image: images }[type] !== null;
}

function serves(type: MediaType, { images }: ProviderConnection, model: DiscoveredModel): boolean {
  if (model.type !== type) return false;
  return type !== 'image' || (images !== null && imageModelFacts(images, model.id) !== null);
}
