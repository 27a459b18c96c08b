import type { ExtrasFolder } from '../../src/engines/extras/extras-folder.ts';
import { idsOf, tinyWhisper, write } from './tiny-models.ts';
import { writeOnnx } from './write-onnx.ts';

const spoken = ['Ġhello', 'Ġworld', '.', 'Ġin', 'ĠEnglish'];
const specials = [
  '<|endoftext|>',
  '<|startoftranscript|>',
  '<|en|>',
  '<|de|>',
  '<|translate|>',
  '<|transcribe|>',
  '<|startoflm|>',
  '<|startofprev|>',
  '<|nocaptions|>',
  '<|notimestamps|>',
];
const timestamps = Array.from({ length: 1_501 }, (_, at) => `<|${(at * 0.02).toFixed(2)}|>`);
const all = [...spoken, ...specials, ...timestamps];
const ids = idsOf(all);
const id = (token: string) => ids[token]!;

/** Successors of each token; from `<|transcribe|>` one way, from `<|translate|>` another. */
const after: readonly (readonly [token: string, next: string])[] = [
  ['<|transcribe|>', '<|0.00|>'],
  ['<|0.00|>', 'Ġhello'],
  ['Ġhello', 'Ġworld'],
  ['Ġworld', '.'],
  ['.', '<|2.00|>'],
  ['<|2.00|>', '<|endoftext|>'],
  ['<|translate|>', '<|0.20|>'],
  ['<|0.20|>', 'Ġin'],
  ['Ġin', 'ĠEnglish'],
  ['ĠEnglish', '<|1.00|>'],
  ['<|1.00|>', '<|endoftext|>'],
];
/** Position of each token in the audio, in steps of 20 ms. */
const heardAt: Readonly<Record<string, number>> = { Ġhello: 10, Ġworld: 40, '.': 80, Ġin: 15, ĠEnglish: 30 };

const frames = 1_500;
const mels = 80;
const states = after.length;

/**
 * A Whisper that says the same of every sound: a chain from token to token. Of the sound it hears one thing, how loud it
 * is: loud is German, silence English.
 */
export function writeTinyWhisper(folder: ExtrasFolder): void {
  const byToken = new Float32Array(all.length * states);
  const next = new Float32Array(states * all.length);
  const attention = new Float32Array(states * frames);
  for (const [state, [token, follows]] of after.entries()) {
    byToken[id(token) * states + state] = 1;
    next[state * all.length + id(follows)] = 100;
    // Never the same for two tokens anywhere: the package divides by their difference.
    const peak = heardAt[follows] ?? 95;
    for (let at = 0; at < frames; at += 1) attention[state * frames + at] = 1 / (1 + Math.abs(at - peak) / 5);
  }
  const language = new Float32Array(all.length);
  language[id('<|de|>')] = 10;
  language[id('<|en|>')] = -10;
  const specialTokens = [...specials, ...timestamps].map((content) => ({
    id: id(content),
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: specials.includes(content),
  }));
  write(folder, tinyWhisper.id, {
    'config.json': {
      model_type: 'whisper',
      architectures: ['WhisperForConditionalGeneration'],
      is_encoder_decoder: true,
      vocab_size: all.length,
      num_mel_bins: mels,
      max_source_positions: frames,
      max_target_positions: 448,
      d_model: mels,
      decoder_layers: 1,
      decoder_attention_heads: 1,
      encoder_layers: 1,
      encoder_attention_heads: 1,
      decoder_start_token_id: id('<|startoftranscript|>'),
      eos_token_id: id('<|endoftext|>'),
      bos_token_id: id('<|endoftext|>'),
      pad_token_id: id('<|endoftext|>'),
    },
    'generation_config.json': {
      alignment_heads: [[0, 0]],
      decoder_start_token_id: id('<|startoftranscript|>'),
      eos_token_id: id('<|endoftext|>'),
      bos_token_id: id('<|endoftext|>'),
      pad_token_id: id('<|endoftext|>'),
      no_timestamps_token_id: id('<|notimestamps|>'),
      is_multilingual: true,
      lang_to_id: { '<|en|>': id('<|en|>'), '<|de|>': id('<|de|>') },
      task_to_id: { transcribe: id('<|transcribe|>'), translate: id('<|translate|>') },
      max_length: 448,
      max_initial_timestamp_index: 50,
      return_timestamps: false,
    },
    'preprocessor_config.json': {
      feature_extractor_type: 'WhisperFeatureExtractor',
      processor_class: 'WhisperProcessor',
      chunk_length: 30,
      feature_size: mels,
      hop_length: 160,
      n_fft: 400,
      n_samples: 480_000,
      nb_max_frames: 3_000,
      sampling_rate: 16_000,
      padding_side: 'right',
      padding_value: 0,
    },
    'tokenizer_config.json': {
      tokenizer_class: 'WhisperTokenizer',
      eos_token: '<|endoftext|>',
      unk_token: '<|endoftext|>',
    },
    'tokenizer.json': {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: specialTokens,
      normalizer: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      post_processor: null,
      decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: { type: 'BPE', vocab: idsOf(spoken), merges: [], unk_token: null },
    },
    'onnx/encoder_model.onnx': writeOnnx({
      inputs: [{ name: 'input_features', type: 'float', shape: [1, mels, frames * 2] }],
      outputs: [{ name: 'last_hidden_state', type: 'float', shape: [1, frames * 2, mels] }],
      constants: [],
      nodes: [
        { op: 'Transpose', inputs: ['input_features'], outputs: ['last_hidden_state'], ints: { perm: [0, 2, 1] } },
      ],
    }),
    'onnx/decoder_model_merged.onnx': writeOnnx({
      inputs: [
        { name: 'input_ids', type: 'int64', shape: [1, 'tokens'] },
        { name: 'encoder_hidden_states', type: 'float', shape: [1, 'frames', mels] },
      ],
      outputs: [
        { name: 'logits', type: 'float', shape: [1, 'tokens', all.length] },
        { name: 'cross_attentions.0', type: 'float', shape: [1, 1, 'tokens', frames] },
      ],
      constants: [
        { name: 'by_token', shape: [all.length, states], data: byToken },
        { name: 'next', shape: [states, all.length], data: next },
        { name: 'language', shape: [1, 1, all.length], data: language },
        { name: 'attention', shape: [states, frames], data: attention },
        { name: 'quiet', shape: [1], data: new Float32Array([1.2]) },
        { name: 'heads', shape: [1], data: BigInt64Array.of(1n) },
      ],
      nodes: [
        { op: 'Gather', inputs: ['by_token', 'input_ids'], outputs: ['state'], ints: { axis: 0 } },
        { op: 'MatMul', inputs: ['state', 'next'], outputs: ['follows'] },
        { op: 'ReduceMean', inputs: ['encoder_hidden_states'], outputs: ['mean'], ints: { axes: [1, 2], keepdims: 1 } },
        { op: 'Add', inputs: ['mean', 'quiet'], outputs: ['loudness'] },
        { op: 'Mul', inputs: ['language', 'loudness'], outputs: ['hint'] },
        { op: 'Add', inputs: ['follows', 'hint'], outputs: ['logits'] },
        { op: 'MatMul', inputs: ['state', 'attention'], outputs: ['attended'] },
        { op: 'Unsqueeze', inputs: ['attended', 'heads'], outputs: ['cross_attentions.0'] },
      ],
    }),
  });
}
