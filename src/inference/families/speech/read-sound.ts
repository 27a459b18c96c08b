import { errorInside } from '../../../formats/dialects/forwarded/read-whole.ts';
import type { SoundEvent } from '../../../formats/media/speech/format.ts';
import { readGeminiSound } from '../../../formats/media/speech/gemini.ts';
import { readMistralSound } from '../../../formats/media/speech/mistral.ts';
import { readOpenAiSound } from '../../../formats/media/speech/openai.ts';
import { type Fault, fault } from '../../../formats/neutral/outcome.ts';
import type { AudioFormat } from '../../../formats/neutral/speech.ts';
import type { Usage } from '../../../formats/neutral/usage.ts';
import { type JsonValue, parsedJson } from '../../../kernel/json.ts';
import { upstreamBodyBytesMax } from '../../../kernel/limits.ts';
import { createSseSplitter, type SseEvent } from '../../../upstream/transport/sse-reader.ts';
import { type AnswerReader, parseAnswer, WholeBody } from '../../spine/answer-reader.ts';

/** Reads an upstream's audio, and tells its format once some is there. */
export interface SoundReader extends AnswerReader {
  push(chunk: Buffer): Buffer | null;
  finish(): Buffer | null;
  /** The received format, which may differ from the requested one; known at the first content. */
  readonly came: { format: AudioFormat; rateHz: number | null };
}

/** Fewer bytes than any format's header and first samples: no sound. */
const soundBytesMin = 64;
/** An error in words is not read beyond this. */
const textBytesMax = 64 * 1024;

/** For an answer whose body is the audio; `requested`: its format. */
export function readSoundBytes(contentType: string, requested: AudioFormat): SoundReader {
  return new SoundBytes(/^(application\/([\w.+-]*\+)?json|text\/)/i.test(contentType), requested);
}

class SoundBytes implements SoundReader {
  contentEvents = 0;
  readonly malformedLines = 0;
  readonly done = false;
  readonly usage = null;
  fault: Fault | null = null;
  came: { format: AudioFormat; rateHz: number | null };
  #inWords: boolean;
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor(isText: boolean, requested: AudioFormat) {
    this.#inWords = isText;
    this.came = { format: requested, rateHz: null };
  }

  push(chunk: Buffer): Buffer | null {
    if (this.fault !== null) return null;
    if (this.contentEvents > 0) {
      this.contentEvents += 1;
      return chunk;
    }
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#inWords) {
      if (this.#heldBytes > textBytesMax) this.fault = notSound();
      return null;
    }
    if (this.#heldBytes < soundBytesMin) return null;
    const start = Buffer.concat(this.#held);
    if (looksLikeText(start)) {
      this.#inWords = true;
      return null;
    }
    const format = formatOf(start, this.came.format);
    if (format === null) {
      this.fault = fault('malformed', `answered with something other than ${this.came.format}`);
      return null;
    }
    this.came = { format, rateHz: null };
    this.#held = [];
    this.contentEvents = 1;
    return start;
  }

  finish(): null {
    if (this.contentEvents > 0 || this.fault !== null) return null;
    if (this.#heldBytes === 0) this.fault = fault('malformed', 'sent an empty answer');
    else this.fault = errorInText(Buffer.concat(this.#held)) ?? notSound();
    return null;
  }
}

function notSound(): Fault {
  return fault('malformed', 'answered with something other than audio');
}

/** An error in the body of a 200. */
function errorInText(bytes: Buffer): Fault | null {
  const { value, fault: unreadable } = parseAnswer(bytes);
  return unreadable === null ? errorInside(value) : null;
}

/** PCM may be any bytes, but not 64 of them that all are letters, digits and signs. */
function looksLikeText(start: Buffer): boolean {
  for (let i = 0; i < soundBytesMin; i += 1) {
    const byte = start[i]!;
    if (byte > 0x7e || (byte < 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return false;
  }
  return true;
}

/**
 * Format of the audio by its first bytes: some servers answer in the one format they have, whatever they are asked for.
 * PCM has no mark, so an unknown format counts as PCM if that was requested; null: an unknown one.
 */
function formatOf(start: Buffer, requested: AudioFormat): AudioFormat | null {
  const begins = start.toString('latin1', 0, 12);
  if (/^RIFF.{4}WAVE/s.test(begins)) return 'wav';
  if (begins.startsWith('OggS')) return 'opus';
  if (begins.startsWith('fLaC')) return 'flac';
  if (begins.startsWith('ID3')) return 'mp3';
  if (requested === 'pcm') return 'pcm';
  const [first, second = 0] = start;
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return null;
  // The same first bits; MPEG's layer is never 0, which ADTS has there.
  return (second & 0x06) === 0 ? 'aac' : 'mp3';
}

/** For an answer with the sound in base64: Gemini's PCM in events or one object, Mistral's in one object. */
export function readBase64Answer(of: 'gemini' | 'mistral', contentType: string, requested: AudioFormat): SoundReader {
  if (of === 'mistral') return new SoundEvents('whole', requested, readMistralSound);
  return new SoundEvents(contentType.startsWith('text/event-stream') ? 'events' : 'whole', 'pcm', readGeminiSound);
}

/** For OpenAI's: the sound itself, or events with pieces of it in base64. */
export function readOpenAiAnswer(contentType: string, requested: AudioFormat): SoundReader {
  return contentType.startsWith('text/event-stream')
    ? new SoundEvents('events', requested, readOpenAiSound)
    : readSoundBytes(contentType, requested);
}

type ReadEvent = (event: JsonValue) => SoundEvent | Fault;

class SoundEvents implements SoundReader {
  contentEvents = 0;
  malformedLines = 0;
  readonly done = false;
  usage: Usage | null = null;
  fault: Fault | null = null;
  came: { format: AudioFormat; rateHz: number | null };
  readonly #read: ReadEvent;
  /** Not every model sends it in pieces: one event may hold all. */
  readonly #splitter: ReturnType<typeof createSseSplitter> | null;
  readonly #body: WholeBody = new WholeBody();
  #finish: string | null = null;

  constructor(comes: 'events' | 'whole', format: AudioFormat, read: ReadEvent) {
    this.came = { format, rateHz: null };
    this.#read = read;
    this.#splitter = comes === 'events' ? createSseSplitter({ eventBytesMax: upstreamBodyBytesMax }) : null;
  }

  push(chunk: Buffer): Buffer | null {
    if (this.fault !== null) return null;
    if (this.#splitter === null) {
      this.fault = this.#body.add(chunk);
      return null;
    }
    const sound = this.#takeEvents(this.#splitter.push(chunk));
    if (this.#splitter.tooLarge) this.fault ??= fault('malformed', 'sent an event that is too large');
    return sound;
  }

  finish(): Buffer | null {
    if (this.fault !== null) return null;
    const sound = this.#splitter === null ? this.#takeWhole() : this.#takeEvents(this.#splitter.end());
    if (this.fault !== null) return sound;
    if (this.contentEvents === 0) {
      const why = this.#finish === null ? '' : ` (${this.#finish})`;
      this.fault = fault('malformed', `answered without audio${why}`);
    } else if (this.#finish === null) {
      this.fault = fault('truncated', 'ended before it reported that it had finished');
    }
    return sound;
  }

  #takeWhole(): Buffer | null {
    const { value, fault: unreadable } = parseAnswer(this.#body.bytes());
    if (unreadable !== null) this.fault = unreadable;
    return unreadable === null ? this.#take(value) : null;
  }

  #takeEvents(events: readonly SseEvent[]): Buffer | null {
    const pieces: Buffer[] = [];
    for (const { data } of events) {
      const value = parsedJson(data);
      if (value === undefined) {
        this.fault = fault('malformed', 'sent an event that is not JSON');
        break;
      }
      const piece = this.#take(value);
      if (piece !== null) pieces.push(piece);
      if (this.fault !== null) break;
    }
    return pieces.length === 0 ? null : Buffer.concat(pieces);
  }

  #take(value: unknown): Buffer | null {
    const read = errorInside(value) ?? this.#read(value as JsonValue);
    if ('class' in read) {
      this.fault = read;
      return null;
    }
    this.usage = read.usage ?? this.usage;
    this.#finish = read.finish ?? this.#finish;
    if (read.sound === null || read.sound.length === 0) return null;
    if (this.contentEvents === 0) this.came = { ...this.came, rateHz: read.rateHz };
    this.contentEvents += 1;
    return read.sound;
  }
}
