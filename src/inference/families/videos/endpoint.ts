import type { Principal } from '../../../books/auth/principal.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import { objectNotFound } from '../../../formats/dialects/named-objects.ts';
import { formOfMembers, membersOfForm } from '../../../formats/media/form-members.ts';
import { pictureEnding, pictureStartBytes, pictureTypeOfStart } from '../../../formats/media/images/picture-type.ts';
import { lossesOf, type VideoRequest } from '../../../formats/media/videos/format.ts';
import { videoFormats } from '../../../formats/media/videos/index.ts';
import { readRemix, readVideoRequest, secondsDefault } from '../../../formats/media/videos/read-request.ts';
import { readVeoOperation } from '../../../formats/media/videos/veo.ts';
import { estimatedTokens } from '../../../formats/neutral/usage.ts';
import { type Failure, failureIn, forbidden, invalid, isFailure } from '../../../kernel/failure.ts';
import { type JsonObject, parsedJson } from '../../../kernel/json.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import type { Alias } from '../../models/alias.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { Answer } from '../../spine/answer.ts';
import { GatheredWhole } from '../../spine/answer-reader.ts';
import { SplitTrial } from '../../spine/attempts/split-trial.ts';
import type { Endpoint } from '../../spine/endpoint.ts';
import { contentOfForm, type UploadedForm } from '../../spine/form-content.ts';
import type { Job, PreparedBody } from '../../spine/job.ts';
import { type PlainEndpoint, plainQuery, plainTarget, plainWay } from '../../spine/plain-request.ts';
import { readableBody, readableForm } from '../../spine/readable-input.ts';
import { plainFacts } from '../../spine/request-body.ts';
import type { Bytes } from '../../spine/sink.ts';
import { type FormFile, formUpload } from '../../spine/upload-body.ts';
import { sealedVideoId, type VideoHome, videoAt, videoHome } from './jobs.ts';
import type { VideoServices } from './services.ts';
import type { FirstPicture, VideoBody } from './video-body.ts';

/** The request as it was received: JSON, or a form whose file its receiver removes. */
export type VideoInput = { body: Buffer } | { form: UploadedForm };

/** A remix of this video. */
export interface RemixInput {
  body: Buffer;
  id: string;
}

/** Largest size of a picture, which is in a body in base64. */
const pictureBytesMax = 20 * 1024 * 1024;

/** New videos. */
export function videosEndpoint(services: VideoServices): Endpoint<VideoInput, VideoBody> {
  return {
    id: 'video',
    cost: 'video',
    async read({ principal }, input) {
      if ('form' in input) return readForm(input.form);
      const read = await services.bodies.readObject(principal.tenant, input.body);
      return isFailure(read) ? read : readJson(read.body);
    },
    readable: (call, input) =>
      'form' in input
        ? readableForm(input.form, (form) => ({ form }))
        : readableBody(services.bodies, call, input.body, 'video', (body) => ({ body })),
    content: (input) => ('form' in input ? contentOfForm(input.form) : input.body),
    async plan(snapshot, { principal, preferences }, { facts, request, picture }) {
      const way = plainWay(snapshot, request.model, principal, filmed);
      if (isFailure(way)) return way;
      const fitting = way.candidates.filter(({ target }) => unmetBy(target, request, picture) === null);
      if (fitting.length === 0) return unmetBy(way.candidates[0]!.target, request, picture)!;
      await services.objects.ready();
      const query = plainQuery({ ...way, candidates: fitting }, facts, preferences, principal.tenant);
      return { alias: way.alias, charged: way.alias, calls: request.seconds, query, form: 'whole' };
    },
    trials: ({ request }, job) => ({ trial: (answer) => new VideoTrial(services, job, request, answer) }),
  };
}

/** Videos made of others: at the provider and under the credential that has them. */
export function videoRemixEndpoint(services: VideoServices): Endpoint<RemixInput, VideoBody> {
  const { addable, ...made } = videosEndpoint(services);
  return {
    ...made,
    id: 'video-remix',
    async read({ principal }, { body, id }) {
      const remix = await services.bodies.readObject(principal.tenant, body);
      if (isFailure(remix)) return remix;
      const prompt = readRemix(remix.body);
      if (isFailure(prompt)) return prompt;
      const source = await sourceOf(services, principal.tenant, id);
      if (isFailure(source)) return source;
      const request: VideoRequest = {
        model: source.home.target,
        prompt,
        seconds: source.seconds,
        size: null,
        pictureUrl: null,
        extra: {},
        user: null,
      };
      const made = bodyOf(request, null, { id, credential: source.home.credential });
      // Guards and rules go by the model that has the target. Where no model has it, `plan` says so.
      const found = modelOfTarget(services.snapshots.current, request.model, principal);
      return isFailure(found) ? made : { ...made, facts: { ...made.facts, model: found.alias.id } };
    },
    readable: (call, { body, id }) =>
      readableBody(services.bodies, call, body, 'video-remix', (changed) => ({ body: changed, id })),
    content: ({ body, id }) => Buffer.concat([Buffer.from(id), body]),
    async plan(snapshot, { principal, preferences }, { facts, request, remixOf }) {
      const found = modelOfTarget(snapshot, request.model, principal);
      if (isFailure(found)) return found;
      const { alias, candidate } = found;
      const credentials = candidate.target.credentials.filter(({ id }) => id === remixOf!.credential);
      const bound = [{ ...candidate, target: { ...candidate.target, credentials } }];
      await services.objects.ready();
      const query = plainQuery({ alias, candidates: bound }, facts, preferences, principal.tenant);
      return { alias, charged: alias, calls: request.seconds, query, form: 'whole', bound: 'video_id' };
    },
  };
}

/** Where a video lives that can be remixed, and its length, which its remix has too. */
async function sourceOf(
  services: VideoServices,
  tenant: string,
  id: string,
): Promise<{ home: VideoHome; seconds: number } | Failure> {
  try {
    const home = await videoHome(services, tenant, id);
    if (isFailure(home)) return home;
    if (home.facts.format !== 'openai') {
      const message = `${home.connection.name} cannot remix videos. Make a new one with the prompt of the remix.`;
      return invalid('video_id', message);
    }
    const found = await videoAt(services, tenant, id);
    if (isFailure(found)) return found;
    const seconds = Number(found.job.seconds);
    return { home, seconds: Number.isInteger(seconds) && seconds > 0 ? seconds : secondsDefault };
  } catch (error) {
    return failureIn(error);
  }
}

function readJson(body: JsonObject): VideoBody | Failure {
  const read = readMembers(body);
  return isFailure(read) ? read : bodyOf(read, null, null);
}

/** Unknown members go on to the provider; ids of its files do not. */
function readMembers(body: JsonObject): VideoRequest | Failure {
  const [named] = dialects['openai-chat'].objects.find(body);
  return named === undefined ? readVideoRequest(body) : objectNotFound(named.field);
}

async function readForm({ fields, files }: UploadedForm): Promise<VideoBody | Failure> {
  const [file, second] = files;
  const wrong = second ?? (file?.name === 'input_reference' ? undefined : file);
  if (wrong !== undefined) {
    const field = wrong.name.slice(0, 80);
    return invalid(field, "A video begins with one picture: send one file as 'input_reference'.");
  }
  const read = readMembers(membersOfForm(fields));
  if (isFailure(read)) return read;
  if (file === undefined) return bodyOf(read, null, null);
  const type = pictureTypeOfStart(await file.file.head(pictureStartBytes));
  if (type === null || file.file.bytes > pictureBytesMax) {
    const message =
      "'input_reference' is not a PNG, JPEG or WebP of at most 20 MB. The name of the file does not matter.";
    return invalid('input_reference', message);
  }
  return bodyOf(read, { type, file: file.file }, null);
}

function bodyOf(request: VideoRequest, picture: FirstPicture | null, remixOf: VideoBody['remixOf']): VideoBody {
  const { model, user, prompt } = request;
  const inputTokensEstimate = estimatedTokens(Buffer.byteLength(prompt));
  const facts = plainFacts({ model, user, stream: false, inputTokensEstimate });
  return { facts, request, picture, remixOf, release() {} };
}

const filmed: PlainEndpoint = {
  name: 'videos',
  type: 'video',
  does: 'makes videos',
  serves: ({ video }) => video !== undefined,
};

function unmetBy({ video, provider }: Target, request: VideoRequest, picture: FirstPicture | null): Failure | null {
  const unmet = videoFormats[video!.format].unmet(request);
  if (unmet !== null)
    return invalid(unmet.field, `${unmet.message} (${provider}). Use another model, or leave it out.`);
  if (picture !== null && request.pictureUrl !== null) {
    return invalid('input_reference', "'input_reference' is there twice, as a file and as a field. Send one.");
  }
  return null;
}

/** The first model that this key may use and that has the target. */
function modelOfTarget(
  { models }: Snapshot,
  target: string,
  principal: Principal,
): { alias: Alias; candidate: RouteCandidate } | Failure {
  for (const alias of models.list(principal)) {
    const candidate = alias.candidates.find((one) => one.target.id === target && one.target.video !== undefined);
    if (candidate !== undefined) {
      const health = alias.type === filmed.type ? 'shared' : 'own';
      return { alias, candidate: { target: plainTarget(candidate.target, filmed.name, health), rank: candidate.rank } };
    }
  }
  const message = `No model that you may use has the target '${target}', which made this video.`;
  return forbidden(message);
}

/** One attempt at one target: a call that begins a job. Its seconds are charged once, when the job has begun. */
class VideoTrial extends SplitTrial<VideoServices> {
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
