import type { Clock } from '../kernel/clock.ts';
import { culvert } from '../kernel/command-form.ts';
import { builtInEngines } from './built-in-engines.ts';
import type { EmbedOrder } from './child/embed-locally.ts';
import type { EngineLoad } from './child/load-transformers.ts';
import type { EmbeddingEngine } from './embedding-engine.ts';
import { EngineChild } from './engine-child.ts';
import { engineBusy, engineMissing } from './engine-error.ts';
import { createEspeak, type Espeak, findEspeak } from './espeak.ts';
import { createEspeakSpeech, espeakModel } from './espeak-speech.ts';
import { addingProgress, type ExtrasFolder, extrasFolderAt, installedModel } from './extras/extras-folder.ts';
import { runtimeInstalled } from './extras/install-runtime.ts';
import { type ModelManifest, modelManifests } from './extras/model-manifest.ts';
import { createKokoroSpeech } from './kokoro-speech.ts';
import type { SpeechEngine } from './speech-engine.ts';
import type { TranscriptionEngine } from './transcription-engine.ts';
import { createWhisperTranscription, type WhisperParts } from './whisper-transcription.ts';

/** Engines by the model that targets name them by (`culvert/<model>`); the best of each kind is first. */
export interface Engines {
  embedding: ReadonlyMap<string, EmbeddingEngine>;
  speech: ReadonlyMap<string, SpeechEngine>;
  transcription: ReadonlyMap<string, TranscriptionEngine>;
}

export interface LocalEnginesOptions {
  dataDir: string;
  clock: Clock;
  decode: WhisperParts['decode'];
  /** Folders of programs, written as PATH. */
  searchPath?: string;
  /** Another folder with the packages, in tests. */
  runtime?: string;
  /** More models than the manifests name, in tests. */
  manifests?: readonly ModelManifest[];
}

/** Shown where the rest of a download cannot be estimated, or is long: how far it is will be known then. */
const retryAfterMaxMs = 60_000;
const retryAfterMinMs = 2_000;

/** Abilities of this machine itself. Nothing is loaded or started before an engine is asked. */
export function createLocalEngines(options: LocalEnginesOptions) {
  const { clock } = options;
  const searchPath = options.searchPath ?? process.env.PATH ?? '';
  const at = extrasFolderAt(options.dataDir);
  const folder: ExtrasFolder = { ...at, runtime: options.runtime ?? at.runtime };
  const manifests = options.manifests ?? modelManifests;
  const children = new Map<string, EngineChild>();
  const embedding = new Map<string, EmbeddingEngine>();
  const speech = new Map<string, SpeechEngine>();
  const transcription = new Map<string, TranscriptionEngine>();
  let espeak: Espeak | null = null;

  function espeakHere(): Espeak | null {
    if (espeak !== null) return espeak;
    const command = findEspeak(searchPath);
    if (command !== null) espeak = createEspeak(command);
    return espeak;
  }

  function isThere({ id }: ModelManifest): boolean {
    return installedModel(folder, id) !== null || addingProgress(folder, id, clock.wallMs()) !== null;
  }

  function make(manifest: ModelManifest): void {
    const child = childOf(folder, clock, manifest);
    children.set(manifest.id, child);
    const parts = { model: manifest.id, ready: readiness(folder, clock, manifest), child };
    switch (manifest.extra) {
      case 'embeddings':
        embedding.set(manifest.id, createModelEmbedding({ ...parts, dimensions: manifest.embeds!.dimensions }));
        break;
      case 'speech':
        speech.set(manifest.id, createKokoroSpeech({ ...parts, espeak: espeakHere }));
        break;
      case 'transcription':
        transcription.set(manifest.id, createWhisperTranscription({ ...parts, decode: options.decode }));
    }
  }

  const engines = {
    embedding: new Map<string, EmbeddingEngine>(),
    speech: new Map<string, SpeechEngine>(),
    transcription: new Map<string, TranscriptionEngine>(),
  };

  return {
    /** Engines at the last look; the same object for ever, which every look updates. */
    engines,
    /** Finds those that are there, or being downloaded, right now: some looks at the disk. */
    look(): Engines {
      const there = manifests.filter(isThere);
      for (const manifest of there) if (!children.has(manifest.id)) make(manifest);
      const espeak = espeakHere();
      if (espeak !== null && !speech.has(espeakModel)) speech.set(espeakModel, createEspeakSpeech(espeak));
      const ids = there.map(({ id }) => id);
      refill(engines.embedding, [...builtInEngines.keys(), ...ids], new Map([...builtInEngines, ...embedding]));
      refill(engines.speech, [...ids, espeakModel], speech);
      refill(engines.transcription, ids, transcription);
      return engines;
    },
    /** Ends every child process. */
    async close(): Promise<void> {
      await Promise.all([...children.values()].map((child) => child.close()));
    },
  };
}

/** Throws while it is not whole; asked at every call, until it is. */
function readiness(folder: ExtrasFolder, clock: Clock, { id, extra }: ModelManifest): () => void {
  let whole = false;
  return () => {
    whole ||= installedModel(folder, id) !== null && runtimeInstalled(folder);
    if (whole) return;
    const adding = addingProgress(folder, id, clock.wallMs());
    if (adding === null)
      throw engineMissing(`${id} is not installed: ${culvert} add ${extra} --model ${id} installs it`);
    const { doneBytes, totalBytes, bytesPerS } = adding;
    const leftMs = bytesPerS > 0 ? ((totalBytes - doneBytes) / bytesPerS) * 1_000 : retryAfterMaxMs;
    const percent = Math.floor((doneBytes * 100) / Math.max(1, totalBytes));
    throw engineBusy(
      `${id} is being downloaded: ${percent}% has arrived`,
      Math.round(Math.min(retryAfterMaxMs, Math.max(retryAfterMinMs, leftMs))),
    );
  };
}

function childOf(folder: ExtrasFolder, clock: Clock, { id, extra, weights, embeds }: ModelManifest): EngineChild {
  const load: EngineLoad = {
    extra,
    runtime: folder.runtime,
    models: folder.model(''),
    model: id,
    weights,
    embeds: embeds ?? null,
  };
  return new EngineChild({ name: id, load, clock });
}

/** Exactly those of `ids` that there are, in this order. */
function refill<T>(map: Map<string, T>, ids: readonly string[], all: ReadonlyMap<string, T>): void {
  map.clear();
  for (const id of ids) {
    const engine = all.get(id);
    if (engine !== undefined) map.set(id, engine);
  }
}

/** Texts of one order: some seconds of work, after which another request has its turn. */
const textsMax = 16;

interface ModelEmbeddingParts {
  model: string;
  dimensions: number;
  /** Throws why it cannot be asked yet. */
  ready(): void;
  child: EngineChild;
}

/** A model in a child process that makes vectors of texts. */
function createModelEmbedding({ model, dimensions, ready, child }: ModelEmbeddingParts): EmbeddingEngine {
  return {
    model,
    dimensions,
    async embed(tenant, texts) {
      ready();
      const rows = new Float32Array(texts.length * dimensions);
      for (let start = 0; start < texts.length; start += textsMax) {
        const order: EmbedOrder = { texts: texts.slice(start, start + textsMax) };
        rows.set(await child.ask<Float32Array>(tenant, order), start * dimensions);
      }
      return rows;
    },
  };
}
