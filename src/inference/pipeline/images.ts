import type { Principal } from '../../auth/principal.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { PictureType } from '../dialects/images/picture-type.ts';
import { readEditForm } from '../dialects/images/read-edit-form.ts';
import { type FinishedImage, writeImages } from '../dialects/images/write-answer.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import type { RouteCandidate } from '../routing/route.ts';
import type { Target } from '../routing/target.ts';
import { costHeaders } from './answer-headers.ts';
import { noneCapable, noneUsable } from './capability.ts';
import type { ConversationBody, ConversationFacts } from './conversation-body.ts';
import { contentOfForm, type UploadedForm } from './form-content.ts';
import { type GatheredImage, GatheredImages } from './gathered-images.ts';
import { type ImageRun, ImageTrial } from './image-attempt.ts';
import { imageBody } from './image-body.ts';
import { type ImageEdit, readEditFiles } from './image-edit.ts';
import { claimOf, jobOf, type ModelCall, runKeyed, settleCall } from './model-call.ts';
import type { Alias } from './model-table.ts';
import { writePictureEvents } from './picture-events.ts';
import { plainQuery } from './plain-request.ts';
import { runAttempts } from './run-attempts.ts';
import type { Services, Snapshot } from './services.ts';
import { refuse } from './sink.ts';

/** A request for pictures: where links that it is answered by begin, without a slash at the end. */
export type ImageCall = ModelCall & { linkBase: string };

/** The way of a request for new pictures. Ends the caller's answer in every case. */
export async function runImages(services: Services, call: ImageCall): Promise<void> {
  const reading = services.conversations.read(call.principal.tenant, call.body, 'images');
  const read = reading instanceof Promise ? await reading : reading;
  if (!read.ok) return refuse(call.sink, read.failure, call.admitted.headers);
  await runKeyed(services, call, read.value, (keyed, body) => draw(services, keyed, body, null));
}

/** The same for pictures that are to be changed; the form's files are its receiver's to remove. */
export async function runImageEdit(
  services: Services,
  call: Omit<ImageCall, 'body'>,
  form: UploadedForm,
): Promise<void> {
  const refused = (failure: Failure) => refuse(call.sink, failure, call.admitted.headers);
  const read = readEditForm(form.fields);
  if (!read.ok) return refused(read.failure);
  const edit = await readEditFiles(form);
  if ('kind' in edit) return refused(edit);
  const body = call.idempotencyKey === null ? noBody : await contentOfForm(form);
  await runKeyed(services, { ...call, body }, imageBody(read.value, edit), (keyed, said) =>
    draw(services, keyed, said, edit),
  );
}

const noBody = Buffer.alloc(0);

/** From the model on. */
async function draw(
  services: Services,
  call: ImageCall,
  body: ConversationBody,
  edit: ImageEdit | null,
): Promise<void> {
  const snapshot = services.snapshot();
  const refused = (failure: Failure) => refuse(call.sink, failure, call.admitted.headers);
  const { facts } = body;
  const way = imageWay(snapshot, facts, call.principal);
  if ('kind' in way) return refused(way);
  const { alias } = way;
  // Before anything is drawn that could not be kept for its link.
  const { account } = call.principal;
  const full = facts.image!.answerForm === 'url' ? await services.storage.mayKeep(account) : null;
  if (full !== null) return refused(full);

  const claim = claimOf(call, snapshot, alias, alias, facts);
  const reserved = await services.admission.reserve(claim);
  if (reserved.kind !== 'reserved') return refused(reserved);

  const request = facts.image!;
  const gathered = new GatheredImages(request.n);
  const run: ImageRun = {
    request,
    edit,
    gathered,
    async write() {
      const { usage } = gathered;
      const told = gathered.told ?? {};
      const createdS = Math.floor(services.clock.wallMs() / 1_000);
      if (request.stream !== null) {
        const pictures = gathered.images.map(inBase64);
        const task = edit === null ? 'image_generation' : 'image_edit';
        const { inputTokensEstimate } = facts.needs;
        return writePictureEvents({ task, request, pictures, createdS, usage, told, inputTokensEstimate });
      }
      const images = await Promise.all(gathered.images.map((image) => finished(services, image, call)));
      return writeImages({ createdS, images, usage, told });
    },
  };
  const query = plainQuery(way, facts, call.wishes, call.principal.tenant);
  const job = jobOf(services, snapshot, call, facts, alias, query, reserved, {
    trial: (job, answer) => new ImageTrial(services, job, run, answer),
  });
  if (request.stream !== null) call.delivery.expect(costHeaders(job));
  try {
    await runAttempts(services, job);
  } finally {
    settleCall(services, call, claim, reserved, job);
  }
}

/** Links of the upstream's own go on; what we have ourselves is in the answer, or kept for the link to it. */
async function finished(
  services: Services,
  image: GatheredImage,
  { linkBase, principal }: ImageCall,
): Promise<FinishedImage> {
  const { revisedPrompt } = image;
  if ('url' in image) return { url: image.url, revisedPrompt };
  if (image.form === 'base64') return { base64: image.content, revisedPrompt };
  const url = await services.files.host(image, linkBase);
  services.storage.add(principal.account, 'pictures', image.content.byteLength);
  return { url, revisedPrompt };
}

/** What is streamed was asked for as base64 of every upstream, and fetched where one gave a link. */
function inBase64(image: GatheredImage): { base64: Uint8Array; type: PictureType } {
  if ('url' in image || image.form !== 'base64') throw new Error('a streamed picture is not in base64');
  return { base64: image.content, type: image.type };
}

/** The alias and its targets; a 404, 403 or 400 when it is unknown, not allowed, or none of them can do it. */
function imageWay(
  snapshot: Snapshot,
  { model, needs }: ConversationFacts,
  principal: Principal,
): { alias: Alias; candidates: readonly RouteCandidate[] } | Failure {
  const alias = snapshot.models.resolve(model, principal);
  if ('kind' in alias) return alias;
  if (alias.candidates.length === 0) return noneUsable(alias.id);
  const candidates = alias.candidates
    .filter(({ target }) => target.image !== undefined)
    .map(({ target, rank }) => ({ target: asDrawing(target, alias), rank }));
  if (candidates.length === 0) {
    return invalid('model', `No provider of the model '${alias.id}' makes pictures. Use another model.`);
  }
  return noneCapable(alias.id, candidates, needs) ?? { alias, candidates };
}

/**
 * The same target as this endpoint sees it. Of an alias that is for something else, its health is its own: a model that
 * does not draw may well chat. Kept, since health knows targets again by identity.
 */
function asDrawing(target: Target, { type }: Alias): Target {
  let seen = served.get(target);
  if (seen === undefined) {
    const health = type === 'image' ? {} : { healthId: `${target.id} (images)` };
    seen = { ...target, dialect: openAiChat.id, alsoSpeaks: [], ...health };
    served.set(target, seen);
  }
  return seen;
}

const served = new WeakMap<Target, Target>();
