import type { TranscriptWord } from '../../formats/neutral/transcript.ts';
import type { TimedText } from '../audio/subtitles.ts';
import { type EngineLoad, loadOptions, type Tensor, type Transformers } from './load-transformers.ts';

export interface TranscribeOrder {
  /** 16 kHz mono, -1 to 1, at most 30 s. */
  samples: Float32Array;
  /** Null: found out. */
  language: string | null;
  task: 'transcribe' | 'translate';
  words: boolean;
}

/** Times in seconds from the window's beginning. */
export interface TranscribedWindow {
  language: string | null;
  segments: WindowSegment[];
}

export interface WindowSegment extends TimedText {
  words: TranscriptWord[] | null;
}

/** Transcript of one window of audio. */
export async function createWhisper(transformers: Transformers, load: EngineLoad) {
  const { AutoTokenizer, AutoProcessor, WhisperForConditionalGeneration, Tensor } = transformers;
  const local = { local_files_only: true };
  const tokenizer = await AutoTokenizer.from_pretrained(load.model, local);
  const processor = await AutoProcessor.from_pretrained(load.model, local);
  const model = await WhisperForConditionalGeneration.from_pretrained(load.model, loadOptions(load));
  const { chunk_length: windowS, hop_length: hop, sampling_rate: rateHz } = processor.feature_extractor.config;
  const { generation_config: facts } = model;

  /** The package has no way to find it out and would take English: one step of the decoder tells. */
  async function languageOf(features: Tensor): Promise<string | null> {
    const start = new Tensor('int64', BigInt64Array.of(BigInt(facts.decoder_start_token_id)), [1, 1]);
    const { logits } = await model({ input_features: features, decoder_input_ids: start });
    let best: string | null = null;
    let most = Number.NEGATIVE_INFINITY;
    for (const [token, id] of Object.entries(facts.lang_to_id ?? {})) {
      const value = Number(logits?.data[id]);
      if (value > most) [best, most] = [token.replaceAll(/[<|>]/g, ''), value];
    }
    return best;
  }

  return async ({ samples, language, task, words }: TranscribeOrder): Promise<TranscribedWindow> => {
    const { input_features: features } = await processor(samples);
    const languageCode = facts.is_multilingual ? (language ?? (await languageOf(features))) : null;
    const withWords = words && facts.alignment_heads !== undefined;
    const seconds = samples.length / rateHz;
    const made = await model.generate({
      inputs: features,
      num_frames: Math.floor(samples.length / hop),
      return_timestamps: true,
      ...(withWords && { return_token_timestamps: true }),
      ...(languageCode !== null && { language: languageCode, task }),
    });
    const tokens = (withWords ? made.sequences : made).tolist()[0] as (bigint | number)[];
    const first = Math.max(
      0,
      tokens.findIndex((token) => Number(token) >= tokenizer.timestamp_begin),
    );
    const sequence = {
      tokens: tokens.slice(first),
      stride: [seconds, 0, 0],
      is_last: true,
      ...(withWords && { token_timestamps: (made.token_timestamps.tolist()[0] as number[]).slice(first) }),
    };
    const decoded = (how: true | 'word') =>
      tokenizer._decode_asr([sequence], {
        time_precision: windowS / model.config.max_source_positions,
        return_timestamps: how,
        force_full_sequences: false,
      })[1].chunks ?? [];
    const segments = decoded(true).map(({ timestamp: [startS, endS], text }) => ({
      startS: startS ?? 0,
      endS: Math.min(endS ?? seconds, Math.max(seconds, startS ?? 0)),
      text,
      words: null as WindowSegment['words'],
    }));
    if (withWords) shareOut(decoded('word'), segments);
    return { language: languageCode, segments };
  };
}

/** Words come of the same tokens as the segments' texts: each takes as many as its text is long. */
function shareOut(words: { timestamp: [number, number | null]; text: string }[], segments: WindowSegment[]): void {
  let next = 0;
  for (const segment of segments) {
    const length = segment.text.trim().length;
    const segmentWords: NonNullable<WindowSegment['words']> = [];
    let taken = '';
    while (next < words.length && (taken.trim().length < length || segment === segments.at(-1))) {
      const { text, timestamp } = words[next]!;
      taken += text;
      segmentWords.push({ word: text.trim(), startS: timestamp[0], endS: timestamp[1] ?? segment.endS });
      next += 1;
    }
    segment.words = segmentWords;
  }
}
