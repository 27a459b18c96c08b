import type { Principal } from '../../../books/auth/principal.ts';
import type { DrawnType } from '../../../formats/media/images/picture-type.ts';
import { readEditForm } from '../../../formats/media/images/read-edit-form.ts';
import { type FinishedImage, writeImages } from '../../../formats/media/images/write-answer.ts';
import { type Failure, FailureError, invalid, isFailure } from '../../../kernel/failure.ts';
import { tooLargeForLoop } from '../../../kernel/parse-object.ts';
import { noneCapable } from '../../../routing/capability.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { Endpoint, Plan, PlannedRequest, Trials } from '../../spine/endpoint.ts';
import { contentOfForm, objectInForm, type UploadedForm } from '../../spine/form-content.ts';
import type { Job } from '../../spine/job.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import { type PlainEndpoint, type PlainWay, plainQuery, plainWay } from '../../spine/plain-request.ts';
import { readableBody, readableForm } from '../../spine/readable-input.ts';
import type { RequestFacts } from '../../spine/request-body.ts';
import { type GatheredImage, GatheredImages } from './gathered-images.ts';
import { type ImageRun, ImageTrial } from './image-attempt.ts';
import { type ImageBody, imageBody, readImages } from './image-body.ts';
import { type ImageEdit, readEditFiles } from './image-edit.ts';
import { writePictureEvents } from './picture-events.ts';
import type { ImageServices } from './services.ts';

/** The received form. `linkBase`: beginning of links in its answer, without a slash at the end. */
export interface ImageInput {
  body: Buffer;
  linkBase: string;
}

/** The same of a request to change pictures; the form's files are its receiver's to remove. */
export interface ImageEditInput {
  form: UploadedForm;
  linkBase: string;
}

type ImageRequestBody = ImageBody & { linkBase: string; edit: ImageEdit | null };

/** New pictures. */
export function imagesEndpoint(services: ImageServices): Endpoint<ImageInput, ImageRequestBody> {
  return {
    id: 'image',
    cost: 'image',
    async read({ principal }, { body, linkBase }) {
      const here = readImages(body);
      const read =
        here === tooLargeForLoop ? await services.bodies.readInThread(principal.tenant, body, 'images') : here;
      return isFailure(read) ? read : { ...read, linkBase, edit: null };
    },
    readable: (call, { body, linkBase }) =>
      readableBody(services.bodies, call, body, 'images', (copied) => ({ body: copied, linkBase })),
    content: ({ body }) => body,
    ...drawing(services),
  };
}

/** Pictures that are to be changed. */
export function imageEditsEndpoint(services: ImageServices): Endpoint<ImageEditInput, ImageRequestBody> {
  return {
    id: 'image-edit',
    cost: 'image',
    async read(_call, { form, linkBase }) {
      const read = objectInForm(form) ?? readEditForm(form.fields);
      if (isFailure(read)) return read;
      const edit = await readEditFiles(form);
      if (isFailure(edit)) return edit;
      return { ...imageBody(read, edit), linkBase, edit };
    },
    readable: (_call, { form, linkBase }) => readableForm(form, (changed) => ({ form: changed, linkBase })),
    content: ({ form }) => contentOfForm(form),
    ...drawing(services),
  };
}

/** Providers that change pictures do it by a prompt, and a form for variations has none. */
const variationPrompt =
  'Draw a variation of this picture: the same subject, style and mood, with another composition and other details.';

/** A picture once more, otherwise: an edit whose prompt is ours. */
export function imageVariationsEndpoint(services: ImageServices): Endpoint<ImageEditInput, ImageRequestBody> {
  const edits = imageEditsEndpoint(services);
  return {
    ...edits,
    id: 'image-variation',
    read(call, { form, linkBase }) {
      if (form.fields.some(({ name }) => name === 'prompt')) {
        const message = "A variation has no 'prompt'. Leave it out, or use /v1/images/edits.";
        return invalid('prompt', message);
      }
      const fields = [...form.fields, { name: 'prompt', value: variationPrompt }];
      return edits.read(call, { form: { ...form, fields }, linkBase });
    },
  };
}

function drawing(services: ImageServices): Pick<Endpoint<unknown, ImageRequestBody>, 'plan' | 'trials'> {
  return {
    async plan(snapshot, { principal, preferences }, { facts }) {
      const way = imageWay(snapshot, facts, principal);
      if (isFailure(way)) return way;
      const { request } = facts;
      // Before anything is drawn that could not be kept for its link.
      const full = request.answerForm === 'url' ? await services.storage.mayKeep(principal.account) : null;
      if (full !== null) return full;
      const query = plainQuery(way, facts, preferences, principal.tenant);
      const form = request.stream === null ? 'whole' : 'events';
      return { alias: way.alias, charged: way.alias, calls: request.n, query, form };
    },
    trials: (received, job) => trialsOf(services, received, job),
  };
}

function trialsOf(
  services: ImageServices,
  { call, request: body }: PlannedRequest<ImageRequestBody, Plan>,
  job: Job,
): Trials {
  const { edit, linkBase } = body;
  const { request, needs } = body.facts;
  const gathered = new GatheredImages(request.n);
  const run: ImageRun = {
    request,
    edit,
    gathered,
    async write() {
      const { usage } = gathered;
      const reported = gathered.reported ?? {};
      const createdS = Math.floor(services.clock.wallMs() / 1_000);
      if (request.stream !== null) {
        const pictures = gathered.images.map(inBase64);
        const task = edit === null ? 'image_generation' : 'image_edit';
        const { inputTokensEstimate } = needs;
        return writePictureEvents({ task, request, pictures, createdS, usage, reported, inputTokensEstimate });
      }
      const images = await Promise.all(gathered.images.map((image) => finished(services, image, linkBase, call)));
      return writeImages({ createdS, images, usage, reported });
    },
  };
  return { trial: (answer) => new ImageTrial(services, job, run, answer) };
}

/** Links of the upstream's own go on; what we have ourselves is in the answer, or kept for the link to it. */
async function finished(
  services: ImageServices,
  image: GatheredImage,
  linkBase: string,
  { principal }: ModelCall,
): Promise<FinishedImage> {
  const { revisedPrompt } = image;
  if ('url' in image) return { url: image.url, revisedPrompt };
  if (image.form === 'base64') return { base64: image.content, revisedPrompt };
  const { content } = image;
  try {
    const host = () => services.files.host(principal.account, image, linkBase);
    const url = await services.storage.keep(principal.account, 'pictures', content.byteLength, host);
    return { url, revisedPrompt };
  } catch (error) {
    if (!(error instanceof FailureError) || !error.failure.kind.startsWith('quota-')) throw error;
    // It is drawn and paid for: the caller gets it in the answer.
    return { base64: Buffer.from(Buffer.from(content).toString('base64'), 'latin1'), revisedPrompt };
  }
}

/** Streamed images were requested as base64 from every upstream, and fetched when one gave a link. */
function inBase64(image: GatheredImage): { base64: Uint8Array; type: DrawnType } {
  if ('url' in image || image.form !== 'base64') throw new Error('a streamed picture is not in base64');
  return { base64: image.content, type: image.type };
}

const drawn: PlainEndpoint = {
  name: 'images',
  type: 'image',
  does: 'makes pictures',
  serves: ({ image }) => image !== undefined,
};

/** The alias and its targets; a 404, 403 or 400 when it is unknown, not allowed, or none of them can do it. */
function imageWay(snapshot: Snapshot, { model, needs }: RequestFacts, principal: Principal): PlainWay | Failure {
  const way = plainWay(snapshot, model, principal, drawn);
  if (isFailure(way)) return way;
  return noneCapable(way.alias, way.candidates, needs, () => snapshot.models.list(principal)) ?? way;
}
