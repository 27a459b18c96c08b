import { StringDecoder } from 'node:string_decoder';
import { mediaAnswer, picturesIn, predictions, soundPart } from '../../../formats/media/gemini/media-answer.ts';
import type { AnswerForm, Bytes, Delivery, Failed, HeaderList, Pace } from '../../../inference/spine/sink.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { convertedHeaders, failureIn, type Words } from '../converted-delivery.ts';
import { PassedDelivery } from '../passed-delivery.ts';

/** A request for media in Google's format. */
export interface MediaFacts {
  model: string;
  /** `predictions`: pictures by `:predict`. `operation`: a video that is begun. */
  kind: 'sound' | 'pictures' | 'predictions' | 'operation';
  form: 'whole' | 'events';
  /** Fields that were left out, in the caller's words. */
  lost: readonly string[];
}

/** Largest size of an answer that is kept whole, in base64. */
const wholeCharsMax = 256 * 1024 * 1024;

/** Fields of the families in the words of Google's callers. */
const words: Words = {
  input: 'contents',
  prompt: 'contents',
  images: 'contents',
  image: 'contents',
  voice: 'generationConfig.speechConfig.voiceConfig.prebuiltVoiceConfig.voiceName',
  instructions: 'systemInstruction',
  size: 'generationConfig.imageConfig',
  n: 'generationConfig.candidateCount',
};
/** The same where `:predict` asks. */
const predictedWords: Words = {
  prompt: 'instances',
  size: 'parameters.aspectRatio',
  n: 'parameters.sampleCount',
  seconds: 'parameters.durationSeconds',
  input_reference: 'instances.image',
  storageUri: 'parameters.storageUri',
};
const fieldsOf: Record<MediaFacts['kind'], Words> = {
  sound: words,
  pictures: words,
  predictions: predictedWords,
  operation: predictedWords,
};

/** The caller as a family of media sees it: takes an answer in OpenAI's format, and gives it on in Google's. */
export class MediaDelivery extends PassedDelivery {
  readonly #requested: MediaFacts;
  #headers: HeaderList = [];
  #started = false;
  /** A piece of bytes may end within a character. */
  readonly #decoder = new StringDecoder();
  #text = '';
  /** Sound of a whole answer, piece by piece. */
  readonly #sound: Buffer[] = [];
  #chars = 0;
  #usage: JsonObject = {};

  constructor(next: Delivery, requested: MediaFacts) {
    super(next);
    this.#requested = requested;
  }

  override get committed(): boolean {
    return this.#started || super.committed;
  }

  override expect(earlyHeaders: HeaderList): void {
    // Comments of a stream would be in front of a whole answer.
    if (this.#requested.form === 'events') this.next.expect(earlyHeaders);
  }

  override start(_form: AnswerForm, headers: HeaderList): void {
    this.#started = true;
    const { kind, lost } = this.#requested;
    this.#headers = convertedHeaders(headers, lost, fieldsOf[kind]);
    if (this.#requested.form === 'events') this.next.start('events', this.#headers);
  }

  override chunk(chunk: Bytes): Pace {
    if (this.#requested.form === 'whole') this.#chars += chunk.length;
    if (this.#chars > wholeCharsMax) return 'ready';
    this.#text += typeof chunk === 'string' ? chunk : this.#decoder.write(chunk);
    if (this.#requested.kind !== 'sound') return 'ready';
    const events = this.#text.split('\n\n');
    this.#text = events.pop() ?? '';
    const pieces = events.flatMap((event) => this.#soundIn(event));
    if (pieces.length === 0) return 'ready';
    if (this.#requested.form === 'events') return this.next.chunk(pieces.map((piece) => this.#framed(piece)).join(''));
    for (const piece of pieces) this.#sound.push(Buffer.from(piece, 'base64'));
    return 'ready';
  }

  override end(failed: Failed | null): void {
    const { kind, form } = this.#requested;
    const inWords = fieldsOf[kind];
    if (failed !== null) return this.next.end({ ...failed, failure: failureIn(inWords, failed.failure) });
    if (this.#chars > wholeCharsMax) return this.next.end({ failure: tooLarge, headers: this.#headers });
    const body = JSON.stringify(this.#answer());
    if (form === 'whole') this.next.start('whole', this.#headers);
    this.next.chunk(form === 'whole' ? body : `data: ${body}\r\n\r\n`);
    this.next.end(null);
  }

  #answer(): JsonObject {
    const { kind, form, model } = this.#requested;
    if (kind === 'sound') {
      const parts = form === 'whole' ? [soundPart(Buffer.concat(this.#sound).toString('base64'))] : [];
      return mediaAnswer(parts, model, { usage: this.#usage });
    }
    const answer = JSON.parse(this.#text) as JsonObject;
    if (kind === 'predictions') return predictions(answer);
    if (kind === 'operation') return { name: `models/${model}/operations/${String(answer.id)}` };
    const parts = picturesIn(answer).map(({ mimeType, base64 }) => ({ inlineData: { mimeType, data: base64 } }));
    return mediaAnswer(parts, model, { usage: answer.usage });
  }

  #framed(base64: string): string {
    return `data: ${JSON.stringify(mediaAnswer([soundPart(base64)], this.#requested.model, null))}\r\n\r\n`;
  }

  /** Base64 of an event's sound. */
  #soundIn(event: string): string[] {
    const line = event.split('\n').find((one) => one.startsWith('data: '));
    if (line === undefined) return [];
    const data = JSON.parse(line.slice('data: '.length)) as JsonObject;
    if (isObject(data.usage)) this.#usage = data.usage;
    return typeof data.audio === 'string' && data.audio !== '' ? [data.audio] : [];
  }
}

const tooLarge: Failure = {
  kind: 'unsupported',
  message: 'The answer is too large for one piece. Ask for a stream, for fewer pictures, or for a shorter text.',
};
