import { dialects } from '../../../formats/dialects/dialect-table.ts';
import { formOfMembers } from '../../../formats/media/form-members.ts';
import { pictureEnding } from '../../../formats/media/images/picture-type.ts';
import { lossesOf } from '../../../formats/media/videos/format.ts';
import { videoFormats } from '../../../formats/media/videos/index.ts';
import { readVeoOperation } from '../../../formats/media/videos/veo.ts';
import { type JsonObject, parsedJson } from '../../../kernel/json.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import type { Answer } from '../../spine/answer.ts';
import { GatheredWhole } from '../../spine/answer-reader.ts';
import { SplitTrial } from '../../spine/attempts/split-trial.ts';
import type { Job, PreparedBody } from '../../spine/job.ts';
import type { Bytes } from '../../spine/sink.ts';
import { type FormFile, formUpload } from '../../spine/upload-body.ts';
import { sealedVideoId } from './jobs.ts';
import type { VideoServices } from './services.ts';
import type { FirstPicture, VideoBody } from './video-body.ts';

/** One attempt at one target: a call that begins a job. Its seconds are charged once, when the job has begun. */
export class VideoTrial extends SplitTrial<VideoServices> {
  /** A job that was begun twice would cost twice. */
  readonly shows = null;
  protected readonly calls = 1;
  readonly #received: VideoBody;
  #job: JsonObject | null = null;

  constructor(services: VideoServices, job: Job, received: VideoBody, answer: Answer) {
    super(services, job, answer);
    this.#received = received;
  }

  protected async body(): Promise<Bytes> {
    return JSON.stringify(this.#job);
  }

  protected async callNext(): Promise<boolean> {
    if (this.#job !== null) return false;
    const bytes = await this.ask(await this.#prepared());
    if (bytes === null) return false;
    const { target } = this.attempt;
    const format = videoFormats[target.video!.format];
    const started = format.started(parsedJson(bytes.toString('utf8')));
    if ('class' in started) {
      this.fail(started);
      return false;
    }
    this.#job = 'job' in started ? started.job : this.#ofOperation(started.operation);
    const id = this.#job.id as string;
    const { objects, giveBack } = this.services;
    objects.give(this.job.tenant, this.attempt, [id]);
    await Promise.all([
      objects.recorded(this.job.tenant, [id]),
      giveBack.paidBy(this.job.tenant, id, this.job.requestId),
    ]);
    this.took({ inputTokens: 0, outputTokens: 0, videoSeconds: this.#received.request.seconds }, true);
    return false;
  }

  async #prepared(): Promise<PreparedBody> {
    const { target } = this.attempt;
    const { connection } = knownEntry(this.job.providers, target.provider);
    const { request, picture, remixOf } = this.#received;
    const facts = target.video!;
    const path = facts.pathOf(target.model, { apiVersion: connection.apiVersion });
    const inline = facts.format === 'veo' && picture !== null ? await inBase64(picture) : null;
    const made = videoFormats[facts.format].encode(request, target.model, inline);
    this.losses = lossesOf(request);
    const members: JsonObject = remixOf === null ? made : { prompt: request.prompt };
    const whole = { ...members, ...(target.body as JsonObject) };
    const asForm = picture !== null && facts.format === 'openai';
    const [below, query] = path.split('?');
    return {
      bytes: asForm ? '' : JSON.stringify(whole),
      ...(asForm && { upload: formUpload(formOfMembers(whole), [fileOf(picture)]) }),
      streamed: false,
      upstreamDialect: dialects[connection.provider.dialect],
      path:
        remixOf === null
          ? path
          : `${below}/${encodeURIComponent(remixOf.id)}/remix${query === undefined ? '' : `?${query}`}`,
      inputTokensEstimate: this.job.inputTokensEstimate,
      reader: () => new GatheredWhole(),
    };
  }

  #ofOperation(name: string): JsonObject {
    const { request } = this.#received;
    const operation = {
      model: this.attempt.target.model,
      name,
      seconds: request.seconds,
      size: request.size === null ? null : `${request.size.width}x${request.size.height}`,
      createdS: Math.floor(this.services.clock.wallMs() / 1_000),
    };
    const id = sealedVideoId(this.services, this.job.tenant, operation);
    return { ...readVeoOperation({}, id, operation).job, status: 'queued' };
  }
}

async function inBase64({ type, file }: FirstPicture) {
  const pieces: Buffer[] = [];
  for await (const piece of file.read()) pieces.push(piece);
  return { mediaType: type, base64: Buffer.concat(pieces).toString('base64') };
}

function fileOf({ type, file }: FirstPicture): FormFile {
  return { name: 'input_reference', fileName: `picture.${pictureEnding[type]}`, mime: type, file };
}
