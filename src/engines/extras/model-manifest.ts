/** The extras of `culvert add`. */
export const extraNames = ['embeddings', 'speech', 'transcription'] as const;
export type ExtraName = (typeof extraNames)[number];

export interface ManifestFile {
  /** Below the repository, and below the model's folder. */
  path: string;
  /** About how many bytes, for the time before the host was asked. */
  aboutBytes: number;
  /**
   * Null: this version of Culvert does not know it. Then the host's value counts, and the received one is written down
   * (`installed.json`), which the user reads.
   */
  sha256: string | null;
}

/** A model that an engine runs: where it comes from, and what its engine must know of it. */
export interface ModelManifest {
  extra: ExtraName;
  /** The upstream model id of its engine, and its folder's name. */
  id: string;
  title: string;
  licence: string;
  /** On the model host. */
  repository: string;
  /** A branch; the download uses the one commit that it stood for when it was asked. */
  revision: string;
  files: readonly ManifestFile[];
  /** Which of its weights are loaded, by the names of transformers.js: `q8`, `fp32`. */
  weights: string | Readonly<Record<string, string>>;
  /** Only models of embeddings have it. */
  embeds?: { dimensions: number; pooling: 'mean' | 'cls'; tokensMax: number };
}

const mib = 1024 * 1024;

function file(path: string, aboutBytes: number): ManifestFile {
  return { path, aboutBytes, sha256: null };
}

/** 510 rows of 256 numbers of 32 bits. */
const kokoroVoiceBytes = 510 * 256 * 4;

/** Voices of languages whose phonemes espeak-ng knows as Kokoro was taught them. */
export const kokoroVoices: readonly string[] =
  'af_heart af_alloy af_bella af_nicole af_nova af_sarah af_sky am_adam am_echo am_fenrir am_michael am_onyx am_puck bf_emma bf_isabella bm_fable bm_george ef_dora em_alex ff_siwis hf_alpha hm_omega if_sara im_nicola pf_dora pm_alex'.split(
    ' ',
  );

function whisper(id: string, title: string, repository: string, weights: readonly ManifestFile[]): ModelManifest {
  return {
    extra: 'transcription',
    id,
    title,
    licence: 'MIT',
    repository,
    revision: 'main',
    files: [
      file('config.json', 3_000),
      file('generation_config.json', 4_000),
      file('preprocessor_config.json', 400),
      file('tokenizer_config.json', 290_000),
      file('tokenizer.json', 2_500_000),
      ...weights,
    ],
    weights: weights[0]!.path.includes('quantized')
      ? 'q8'
      : // The encoder recognises less in 8 bits; the decoder writes as well, and is most of the size.
        { encoder_model: 'fp32', decoder_model_merged: 'q8' },
  };
}

/** The first of each extra is the one that is added where none is named. */
export const modelManifests: readonly ModelManifest[] = [
  {
    extra: 'embeddings',
    id: 'bge-m3',
    title: 'BGE-M3, 1,024 dimensions, 100 languages',
    licence: 'MIT',
    repository: 'Xenova/bge-m3',
    revision: 'main',
    files: [
      file('config.json', 800),
      file('tokenizer_config.json', 1_200),
      file('tokenizer.json', 17_100_000),
      file('onnx/model_quantized.onnx', 570_000_000),
    ],
    weights: 'q8',
    embeds: { dimensions: 1_024, pooling: 'cls', tokensMax: 8_192 },
  },
  {
    extra: 'embeddings',
    id: 'multilingual-e5-large',
    title: 'Multilingual E5 large, 1,024 dimensions, 100 languages',
    licence: 'MIT',
    repository: 'Xenova/multilingual-e5-large',
    revision: 'main',
    files: [
      file('config.json', 800),
      file('tokenizer_config.json', 500),
      file('tokenizer.json', 17_100_000),
      file('onnx/model_quantized.onnx', 562_000_000),
    ],
    weights: 'q8',
    embeds: { dimensions: 1_024, pooling: 'mean', tokensMax: 512 },
  },
  {
    extra: 'speech',
    id: 'kokoro-82m',
    title: `Kokoro-82M 1.0, ${kokoroVoices.length} voices, 24 kHz`,
    licence: 'Apache-2.0',
    repository: 'onnx-community/Kokoro-82M-v1.0-ONNX',
    revision: 'main',
    files: [
      file('config.json', 100),
      file('tokenizer_config.json', 200),
      file('tokenizer.json', 4_000),
      file('onnx/model_quantized.onnx', 92_400_000),
      ...kokoroVoices.map((voice) => file(`voices/${voice}.bin`, kokoroVoiceBytes)),
    ],
    weights: 'q8',
  },
  whisper('whisper-base', 'Whisper base, 99 languages', 'onnx-community/whisper-base_timestamped', [
    file('onnx/encoder_model.onnx', 82_500_000),
    file('onnx/decoder_model_merged_quantized.onnx', 53_500_000),
  ]),
  whisper(
    'whisper-large-v3-turbo',
    'Whisper large v3 turbo, 99 languages, for machines with 8 cores or more',
    'onnx-community/whisper-large-v3-turbo_timestamped',
    [file('onnx/encoder_model_quantized.onnx', 615 * mib), file('onnx/decoder_model_merged_quantized.onnx', 174 * mib)],
  ),
];
