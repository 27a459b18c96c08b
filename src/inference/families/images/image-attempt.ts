import { randomBytes } from 'node:crypto';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import type { ImageFormat, ImageFormatId, ImageModelFacts } from '../../../formats/media/images/format.ts';
import { imageFormats } from '../../../formats/media/images/index.ts';
import { pictureEnding } from '../../../formats/media/images/picture-type.ts';
import type { ImageRequest } from '../../../formats/neutral/image.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import type { Fault } from '../../../formats/neutral/outcome.ts';
import { addWritten, type Usage } from '../../../formats/neutral/usage.ts';
import type { ProviderConnection } from '../../../formats/providers/provider-connection.ts';
import { isObject, type JsonObject, jsonText } from '../../../kernel/json.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import type { Target } from '../../../routing/target.ts';
import type { UpstreamUpload } from '../../../upstream/transport/upstream-call.ts';
import type { ConfiguredProvider } from '../../models/connections.ts';
import type { Answer } from '../../spine/answer.ts';
import { GatheredWhole, parseAnswer } from '../../spine/answer-reader.ts';
import { endOfJob } from '../../spine/attempts/polled-job.ts';
import { SplitTrial } from '../../spine/attempts/split-trial.ts';
import type { Job, PreparedBody } from '../../spine/job.ts';
import type { AnswerForm, Bytes } from '../../spine/sink.ts';
import { type BodyPiece, type FormFile, formUpload, joinedUpload } from '../../spine/upload-body.ts';
import { DrawnStream } from './drawn-stream.ts';
import type { GatheredImage, GatheredImages } from './gathered-images.ts';
import type { PictureForm, ReadImage, ReadImages } from './image-codec.ts';
import type { ImageEdit, UploadedPicture } from './image-edit.ts';
import type { ImageServices } from './services.ts';

/** The images to make, and those made so far. */
export interface ImageRun {
  request: ImageRequest;
  edit: ImageEdit | null;
  gathered: GatheredImages;
  /** Every picture is there: the answer's body. */
  write(): Promise<Bytes>;
}

type TrialServices = Pick<ImageServices, 'clock' | 'transport' | 'imageCodec' | 'pictures'>;

/**
 * One attempt at one target: as many calls as it needs for the missing images. Finished ones are kept when a call
 * fails; the rest is for the next target.
 */
export class ImageTrial extends SplitTrial<TrialServices> {
  /** Drawing takes a minute in silence, and twice would cost twice. */
  readonly shows = null;
  protected override readonly form: AnswerForm;
  readonly #run: ImageRun;
  readonly #facts: ImageModelFacts;
  readonly #provider: ConfiguredProvider;
  readonly #ending = new AbortController();
  /** Pictures that no call has been sent for. */
  #unasked: number;

  constructor(services: TrialServices, job: Job, run: ImageRun, answer: Answer) {
    super(services, job, answer);
    this.#run = run;
    this.form = run.request.stream === null ? 'whole' : 'events';
    const { target } = answer.attempt;
    this.#facts = target.image!;
    this.#provider = knownEntry(job.providers, target.provider);
    this.#unasked = run.gathered.missing;
  }

  protected get calls(): number {
    return Math.ceil(this.#unasked / this.#facts.perCall);
  }

  protected body(): Promise<Bytes> {
    return this.#run.write();
  }

  protected async callNext(): Promise<boolean> {
    if (this.#unasked === 0) return false;
    const count = Math.min(this.#facts.perCall, this.#unasked);
    this.#unasked -= count;
    const drawn = await this.#call(count);
    // Some give fewer than they were asked for, such as those that filter them; each call gives one at least.
    this.#unasked += count - drawn;
    return true;
  }

  protected override stopBeside(): void {
    this.#ending.abort();
  }

  /** With a mask as the target reads it. */
  async #editInItsWay(): Promise<ImageEdit | Fault | null> {
    const { edit, request } = this.#run;
    const maskedAs = imageFormats[this.#facts.format].maskedAs?.(request);
    if (edit === null || edit.mask === null || maskedAs === undefined) return edit;
    const pieces: Buffer[] = [];
    for await (const piece of edit.mask.file.read()) pieces.push(piece);
    const made = await this.services.imageCodec.mask(this.job.tenant, Buffer.concat(pieces), maskedAs);
    if ('class' in made) return made;
    const mask = Buffer.from(made);
    return { ...edit, mask: { type: 'image/png', file: { bytes: mask.length, read: () => piecesOf(mask) } } };
  }

  /** How many pictures came of it. */
  async #call(count: number): Promise<number> {
    const edit = await this.#editInItsWay();
    if (edit !== null && 'class' in edit) {
      this.fail(edit);
      return 0;
    }
    const { request } = this.#run;
    const { body, losses } = prepareImages(this.#provider.connection, this.attempt.target, { request, edit }, count, {
      inputTokensEstimate: this.job.inputTokensEstimate,
      preview: this.#newPreview(),
    });
    this.losses = losses;
    const bytes = await this.#drawn(await this.ask(body));
    if (bytes === null) return 0;
    const read = await this.services.imageCodec.read(this.job.tenant, bytes, this.#facts.format, this.#form);
    if ('class' in read) {
      this.fail(read);
      return 0;
    }
    // Nobody asked for more than that.
    const images = await Promise.all(read.images.slice(0, count).map((image) => this.#inHand(image)));
    if (this.failed) return 0;
    this.#run.gathered.add(images as GatheredImage[], read.usage, read.reported);
    this.took(this.#usageOf(images.length, read), read.usage !== null);
    return images.length;
  }

  /** The drawn answer; of a service that draws later, the state with which its job ended. */
  async #drawn(begun: Buffer | null): Promise<Buffer | null> {
    const { job } = imageFormats[this.#facts.format];
    const url = begun === null || job === undefined ? null : jobUrl(begun, job, this.#provider);
    // What began no job is read as it is, which says why.
    if (url === null) return begun;
    const { connection } = this.#provider;
    const ended = await endOfJob(
      this.services,
      { connection, credential: this.attempt.credential.id, url, runs: job!.runs },
      { deadlineMs: this.job.deadlineMs, signal: this.#ending.signal },
    );
    if (Buffer.isBuffer(ended)) return ended;
    this.fail(ended);
    return null;
  }

  #usageOf(images: number, { usage: tokens, reported }: Omit<ReadImages, 'images'>): Usage {
    const usage = this.#pictureUsage(images, tokens);
    if (isObject(reported.svg_usage)) addWritten(usage, reported.svg_usage);
    return usage;
  }

  #pictureUsage(images: number, tokens: ReadImages['usage']): Usage {
    if (tokens === null) return { inputTokens: this.job.inputTokensEstimate, outputTokens: 0, images };
    const { inputTokens, outputTokens, imageTokens, made } = tokens;
    const seen = imageTokens === null ? {} : { imageInputTokens: imageTokens };
    // Without parts, all that such a model writes is the picture.
    const imageOutputTokens = made?.imageTokens ?? outputTokens;
    return { inputTokens, outputTokens, ...seen, imageOutputTokens, images };
  }

  /** Shows an event of an unfinished image at once; null: nobody wants any. */
  #newPreview(): ((frame: Buffer) => void) | null {
    const { request } = this.#run;
    // With several images, nobody could tell which one an unfinished image belongs to.
    if (request.stream === null || request.stream.partialImages === 0 || request.n > 1) return null;
    if (this.#facts.previews !== true) return null;
    const { sink } = this.job;
    // A slow reader misses some, which later ones replace: an upstream may send any number.
    let isBehind = false;
    this.answer.onDrain(() => {
      isBehind = false;
    });
    return (frame) => {
      if (isBehind) return;
      sink.start('events', this.answer.headers({ losses: this.losses }));
      isBehind = sink.chunk(frame) === 'behind';
    };
  }

  get #form(): PictureForm {
    return this.#run.request.answerForm === 'url' ? 'bytes' : 'base64';
  }

  /** A link goes on unchanged if the caller wants one and can follow it; else the image is fetched. */
  async #inHand(image: ReadImage): Promise<GatheredImage | null> {
    if (!('url' in image)) return image;
    const upstreamHost = upstreamHostOf(image.url, this.#provider);
    if (this.#form === 'bytes' && upstreamHost === null) return image;
    const picture = await this.services.pictures.fetch(image.url, {
      upstreamHost,
      as: this.#form,
      timeoutMs: this.job.deadlineMs - this.services.clock.monotonicMs(),
      signal: this.#ending.signal,
    });
    if ('class' in picture) {
      this.fail(picture);
      return null;
    }
    return { ...picture, revisedPrompt: image.revisedPrompt };
  }
}

/** Null when the answer names no place, or one that is not the service's: its key goes there. */
function jobUrl(begun: Buffer, job: NonNullable<ImageFormat['job']>, { connection }: ConfiguredProvider): URL | null {
  const { value } = parseAnswer(begun);
  const at = isObject(value) ? job.at(value) : null;
  const url = at === null ? null : URL.parse(at);
  if (url === null) return null;
  return url.origin === connection.origin || (url.protocol === 'https:' && job.hosts.test(url.hostname)) ? url : null;
}

/**
 * The upstream's host and port, when the picture is there and it is no Internet service: callers may not reach a server
 * on the operator's machines, nor need they know where it is.
 */
function upstreamHostOf(url: string, { connection }: ConfiguredProvider): string | null {
  const { origin, host, port } = new URL(url);
  if (origin !== connection.origin || !origin.startsWith('http:')) return null;
  return port === '' ? `${host}:80` : host;
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

/**
 * One call for `count` pictures, in the target's own format. `preview`: gets events of unfinished pictures; null: they
 * are not asked for.
 */
function prepareImages(
  connection: ProviderConnection,
  target: Target,
  { request, edit }: { request: ImageRequest; edit: ImageEdit | null },
  count: number,
  { inputTokensEstimate, preview }: { inputTokensEstimate: number; preview: ((frame: Buffer) => void) | null },
): { body: PreparedBody; losses: readonly Loss[] } {
  const { model } = target;
  const facts = target.image!;
  const marked = edit === null ? null : markedSource(edit);
  const source = marked?.source ?? null;
  const { body, losses } = imageFormats[facts.format].encode({ model, count, request, facts, source });
  const streaming = preview === null ? {} : { stream: true, partial_images: request.stream?.partialImages ?? 0 };
  const whole = { ...body, ...streaming, ...(target.body as JsonObject) };
  const upload = uploadOf(facts.format, whole, marked, edit);
  const task = edit === null ? 'generate' : 'edit';
  return {
    losses,
    body: {
      bytes: upload === null ? JSON.stringify(whole) : '',
      ...(upload !== null && { upload }),
      streamed: false,
      upstreamDialect: dialects[connection.provider.dialect],
      path: connection.images!.pathOf(model, task, { apiVersion: connection.apiVersion }),
      inputTokensEstimate,
      reader: (contentType) =>
        // Some servers answer whole whatever was asked.
        preview !== null && contentType.startsWith('text/event-stream')
          ? new DrawnStream(preview)
          : new GatheredWhole(),
    },
  };
}

type Upload = UpstreamUpload & { contentType: string };

/** Null: it goes as JSON. OpenAI's format has a form for what is changed, Stability's for all; others have it in JSON. */
function uploadOf(
  format: ImageFormatId,
  body: JsonObject,
  marked: ReturnType<typeof markedSource> | null,
  edit: ImageEdit | null,
): Upload | null {
  if (format === 'stability') return editForm(body, edit ?? { pictures: [], mask: null, markup: null });
  if (marked === null) return null;
  return format === 'openai' ? editForm(body, edit!) : marked.upload(body);
}

/** OpenAI's form for `/images/edits`: the members of `body` as fields, then the pictures. */
function editForm(body: JsonObject, { pictures, mask, markup }: ImageEdit): Upload {
  const fields = Object.entries(body).map(([name, value = null]) => ({ name, value: jsonText(value) }));
  const fileOf = (name: string, fileName: string, { type, file }: UploadedPicture): FormFile => {
    return { name, fileName: `${fileName}.${pictureEnding[type]}`, mime: type, file };
  };
  // One alone goes by the name that older servers know.
  const name = pictures.length === 1 ? 'image' : 'image[]';
  const files = pictures.map((picture, i) => fileOf(name, `image-${i}`, picture));
  if (mask !== null) files.push(fileOf('mask', 'mask', mask));
  if (markup !== null) files.push(fileOf('markup', 'markup', markup));
  return formUpload(fields, files);
}

/** JSON in whose place for each picture its base64 is read from disk while it is sent. */
function markedSource({ pictures, mask }: ImageEdit) {
  // Letters that JSON leaves unchanged; nobody can have guessed it to put it into a prompt.
  const token = randomBytes(16).toString('hex');
  const files = mask === null ? pictures : [...pictures, mask];
  const marked = files.map(({ type }, i) => ({ mediaType: type, base64: `<${token}:${i}>` }));
  return {
    /** Holds marks instead of base64. */
    source: { pictures: marked.slice(0, pictures.length), mask: marked[pictures.length] ?? null },
    upload(body: JsonObject): Upload {
      const parts = JSON.stringify(body).split(new RegExp(`<${token}:(\\d+)>`));
      const pieces = parts.map(
        (part, i): BodyPiece => (i % 2 === 0 ? { text: part } : { file: files[Number(part)]!.file, as: 'base64' }),
      );
      return { ...joinedUpload(pieces), contentType: 'application/json' };
    },
  };
}
