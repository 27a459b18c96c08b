import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ModelManifest } from '../extras/model-manifest.ts';

/** Settings for a child at its start. */
export interface EngineLoad {
  extra: ModelManifest['extra'];
  /** Folder with node_modules. */
  runtime: string;
  /** Folder in which each model has its own. */
  models: string;
  model: string;
  weights: ModelManifest['weights'];
  embeds: ModelManifest['embeds'] | null;
}

/** The used part of @huggingface/transformers, which is not a dependency of ours but comes with `culvert add`. */
export interface Transformers {
  env: {
    allowRemoteModels: boolean;
    allowLocalModels: boolean;
    localModelPath: string;
    useFSCache: boolean;
    logLevel?: number;
  };
  Tensor: new (type: string, data: unknown, dims: readonly number[]) => Tensor;
  AutoTokenizer: Loads<Tokenizer>;
  AutoModel: Loads<Model>;
  AutoProcessor: Loads<Processor>;
  StyleTextToSpeech2Model: Loads<Model>;
  WhisperForConditionalGeneration: Loads<WhisperModel>;
}

interface Loads<T> {
  from_pretrained(model: string, options: object): Promise<T>;
}

export interface Tensor {
  dims: readonly number[];
  data: Float32Array | BigInt64Array;
  tolist(): unknown[];
}

export interface Tokenizer {
  (text: string | readonly string[], options: object): { input_ids: Tensor; attention_mask: Tensor };
  /** Only Whisper's has it. */
  timestamp_begin: number;
  _decode_asr(
    sequences: readonly object[],
    options: object,
  ): [string, { chunks?: { timestamp: [number, number | null]; text: string }[] }];
}

export type Model = (inputs: object) => Promise<Record<string, Tensor>>;

export type WhisperModel = Model & {
  config: { max_source_positions: number };
  generation_config: {
    decoder_start_token_id: number;
    is_multilingual?: boolean;
    lang_to_id?: Record<string, number>;
    alignment_heads?: unknown;
  };
  generate(options: object): Promise<Tensor & { sequences: Tensor; token_timestamps: Tensor }>;
};

export interface Processor {
  (samples: Float32Array): Promise<{ input_features: Tensor }>;
  feature_extractor: { config: { chunk_length: number; hop_length: number; sampling_rate: number } };
}

/** The package, restricted to files of this disk. */
export async function loadTransformers({ runtime, models }: EngineLoad): Promise<Transformers> {
  const entry = createRequire(join(runtime, 'package.json')).resolve('@huggingface/transformers');
  // `require` names the CommonJS one, which serves as well and is one copy.
  const loaded = (await import(pathToFileURL(entry).href)) as Transformers & { default?: Transformers };
  const transformers = loaded.env === undefined ? loaded.default! : loaded;
  Object.assign(transformers.env, {
    allowRemoteModels: false,
    allowLocalModels: true,
    localModelPath: models,
    useFSCache: false,
  });
  return transformers;
}

/** Options of `from_pretrained`. */
export function loadOptions({ weights }: EngineLoad): object {
  return { dtype: weights, local_files_only: true, device: 'cpu' };
}
