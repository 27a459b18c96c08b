import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ExtrasFolder, markInstalled } from '../../src/engines/extras/extras-folder.ts';
import type { ModelManifest } from '../../src/engines/extras/model-manifest.ts';
import { writeOnnx } from './write-onnx.ts';

const shared = {
  title: 'Tiny',
  licence: 'none',
  repository: 'tests/tiny',
  revision: 'main',
  files: [],
  weights: 'fp32',
};

/** Words of the tiny models of text, by their place. */
const words = ['[PAD]', '[UNK]', 'red', 'green', 'blue', 'light'];
const dimensions = 4;

export const tinyEmbedding: ModelManifest = {
  ...shared,
  extra: 'embeddings',
  id: 'tiny-embedding',
  embeds: { dimensions, pooling: 'mean', tokensMax: 32 },
};
export const tinyKokoro: ModelManifest = { ...shared, extra: 'speech', id: 'kokoro-82m' };
export const tinyWhisper: ModelManifest = { ...shared, extra: 'transcription', id: 'tiny-whisper' };

/** A vector for each word: its mean over the words, of length 1, is the text's. */
export const wordVectors = new Float32Array([0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0]);

export function writeTinyEmbedding(folder: ExtrasFolder): void {
  write(folder, tinyEmbedding.id, {
    'config.json': { model_type: 'bert', architectures: ['BertModel'] },
    'tokenizer_config.json': { tokenizer_class: 'PreTrainedTokenizer', pad_token: '[PAD]', unk_token: '[UNK]' },
    'tokenizer.json': {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: [],
      normalizer: { type: 'Lowercase' },
      pre_tokenizer: { type: 'Whitespace' },
      post_processor: null,
      decoder: null,
      model: { type: 'WordLevel', vocab: idsOf(words), unk_token: '[UNK]' },
    },
    'onnx/model.onnx': writeOnnx({
      inputs: [
        { name: 'input_ids', type: 'int64', shape: ['texts', 'tokens'] },
        { name: 'attention_mask', type: 'int64', shape: ['texts', 'tokens'] },
      ],
      outputs: [{ name: 'last_hidden_state', type: 'float', shape: ['texts', 'tokens', dimensions] }],
      constants: [{ name: 'vectors', shape: [words.length, dimensions], data: wordVectors }],
      nodes: [{ op: 'Gather', inputs: ['vectors', 'input_ids'], outputs: ['last_hidden_state'], ints: { axis: 0 } }],
    }),
  });
}

export const kokoroSamplesAToken = 600;
const phonemes = '$;:,.!?—… "()abcdefhijklmnopqstuvwyzæðŋɐɑɒɔəɚɛɜɡɪɹɾʃʊʌʒʔˈˌːθᵻβɕɖɟʤʧʣʥʦʨᵝꭧɨɯɲɳɴøɸœʂʈɰʋɣχʎ';

/**
 * `kokoroSamplesAToken` samples for each token of phonemes, all as high as the voice's row says, through the speed: row
 * r of every voice file says r / 1000.
 */
export function writeTinyKokoro(folder: ExtrasFolder): void {
  const vocab = idsOf([...phonemes]);
  const ones = new Float32Array([...phonemes].length * kokoroSamplesAToken).fill(1);
  const styles = Float32Array.from({ length: 510 * 256 }, (_, at) => Math.floor(at / 256) / 1_000);
  const voice = Buffer.from(styles.buffer);
  write(folder, tinyKokoro.id, {
    'config.json': { model_type: 'style_text_to_speech_2', architectures: ['StyleTextToSpeech2Model'] },
    'tokenizer_config.json': {
      tokenizer_class: 'PreTrainedTokenizer',
      model_max_length: 512,
      pad_token: '$',
      unk_token: '$',
    },
    'tokenizer.json': {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: [],
      // As Kokoro does: it leaves out phonemes that it was not taught.
      normalizer: { type: 'Replace', pattern: { Regex: `[^${phonemes}]` }, content: '' },
      pre_tokenizer: { type: 'Split', pattern: { Regex: '' }, behavior: 'Isolated', invert: false },
      post_processor: {
        type: 'TemplateProcessing',
        single: [
          { SpecialToken: { id: '$', type_id: 0 } },
          { Sequence: { id: 'A', type_id: 0 } },
          { SpecialToken: { id: '$', type_id: 0 } },
        ],
        pair: [],
        special_tokens: { $: { id: '$', ids: [0], tokens: ['$'] } },
      },
      decoder: null,
      model: { type: 'WordLevel', vocab, unk_token: '$' },
    },
    'voices/af_alloy.bin': voice,
    'voices/bm_fable.bin': voice,
    'onnx/model.onnx': writeOnnx({
      inputs: [
        { name: 'input_ids', type: 'int64', shape: [1, 'tokens'] },
        { name: 'style', type: 'float', shape: [1, 256] },
        { name: 'speed', type: 'float', shape: [1] },
      ],
      outputs: [{ name: 'waveform', type: 'float', shape: [1, 'samples'] }],
      constants: [
        { name: 'ones', shape: [[...phonemes].length, kokoroSamplesAToken], data: ones },
        { name: 'flat', shape: [2], data: BigInt64Array.of(1n, -1n) },
      ],
      nodes: [
        { op: 'Gather', inputs: ['ones', 'input_ids'], outputs: ['sound'], ints: { axis: 0 } },
        { op: 'Reshape', inputs: ['sound', 'flat'], outputs: ['line'] },
        { op: 'ReduceMax', inputs: ['style'], outputs: ['height'], ints: { axes: [1], keepdims: 1 } },
        { op: 'Mul', inputs: ['line', 'height'], outputs: ['high'] },
        { op: 'Div', inputs: ['high', 'speed'], outputs: ['waveform'] },
      ],
    }),
  });
}

type Files = Readonly<Record<string, Buffer | object>>;

export function write(folder: ExtrasFolder, id: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    const file = folder.file(id, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, Buffer.isBuffer(content) ? content : JSON.stringify(content));
  }
  markInstalled(folder, { id, repository: 'tests/tiny', commit: null, files: [] });
}

export function idsOf(tokens: readonly string[]): Record<string, number> {
  return Object.fromEntries(tokens.map((token, at) => [token, at]));
}

/** Where `npm run setup:test-tools` puts the packages that run models. */
export const testRuntime = join(import.meta.dirname, '..', '..', '.test-tools', 'transformers');
