import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EngineLoad, loadOptions, type Transformers } from './load-transformers.ts';

export interface SpeakOrder {
  phonemes: string;
  voice: string;
  speed: number;
}

/** A voice file: a row for each length of text. */
const styleRows = 510;
const styleColumns = 256;

/** Sound of phonemes: 24 kHz, from -1 to 1. */
export async function createKokoro(transformers: Transformers, load: EngineLoad) {
  const { AutoTokenizer, StyleTextToSpeech2Model, Tensor } = transformers;
  const tokenizer = await AutoTokenizer.from_pretrained(load.model, { local_files_only: true });
  const model = await StyleTextToSpeech2Model.from_pretrained(load.model, loadOptions(load));
  const voices = new Map<string, Promise<Float32Array>>();

  return async ({ phonemes, voice, speed }: SpeakOrder): Promise<Float32Array> => {
    let styles = voices.get(voice);
    if (styles === undefined) {
      styles = stylesIn(join(load.models, load.model, 'voices', `${voice}.bin`));
      // A file that cannot be read may be there the next time.
      styles.catch(() => voices.delete(voice));
      voices.set(voice, styles);
    }
    const { input_ids: ids } = tokenizer(phonemes, { truncation: true });
    // Without the two that frame a text.
    const row = Math.min(styleRows - 1, Math.max(0, ids.dims.at(-1)! - 2));
    const style = (await styles).slice(row * styleColumns, (row + 1) * styleColumns);
    const { waveform } = await model({
      input_ids: ids,
      style: new Tensor('float32', style, [1, styleColumns]),
      speed: new Tensor('float32', [speed], [1]),
    });
    if (waveform === undefined) throw new Error('the model gives no waveform');
    return Float32Array.from(waveform.data as Float32Array);
  };
}

async function stylesIn(path: string): Promise<Float32Array> {
  const bytes = await readFile(path);
  if (bytes.length < styleRows * styleColumns * 4) throw new Error(`${path} is not a voice`);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + styleRows * styleColumns * 4));
}
