import { Readable } from 'node:stream';
import type { Principal } from '../../../books/auth/principal.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import {
  imageEditsEndpoint,
  imagesEndpoint,
  imageVariationsEndpoint,
} from '../../../inference/families/images/endpoint.ts';
import { editFilesMax, picturesMax } from '../../../inference/families/images/image-edit.ts';
import type { ModelCall } from '../../../inference/spine/model-call.ts';
import { type Failure, failureIn, invalid, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import { type Exchange, headerOf } from '../../exchange.ts';
import { linkBaseOf } from '../../link-base.ts';
import { bodyHandler, uploadHandler } from '../../model-call.ts';
import { readJsonBody } from '../../read-body.ts';
import type { FormField, FormFile, Multipart } from '../../read-multipart.ts';

/** Handlers of bodies in OpenAI's format: of pictures that are drawn, that are changed, and of which others are made. */
export function imageHandlers(services: Services) {
  const linkBase = ({ request }: Exchange) => linkBaseOf(request, services.snapshots.current.config.server);
  const ofForm = (exchange: Exchange, form: Multipart) => ({
    form: withFormat(exchange, form),
    linkBase: linkBase(exchange),
  });
  return {
    draw: bodyHandler(services, imagesEndpoint(services), (exchange, body) => ({ body, linkBase: linkBase(exchange) })),
    change: uploadHandler(services, imageEditsEndpoint(services), editFilesMax, ofForm, (exchange, call) =>
      readEditBody(services, exchange, call),
    ),
    vary: uploadHandler(services, imageVariationsEndpoint(services), 1, ofForm),
  };
}

/** The AI SDK's provider for DeepInfra names no form of its pictures, and reads base64. */
function withFormat(exchange: Exchange, form: Multipart): Multipart {
  const isNamed = form.fields.some(({ name }) => name === 'response_format');
  if (isNamed || !headerOf(exchange, 'user-agent')?.startsWith('ai/')) return form;
  return { ...form, fields: [...form.fields, { name: 'response_format', value: 'b64_json' }] };
}

const fetchTimeoutMs = 15_000;
const dataUrl = /^data:[^,;]{0,100}(?:;[^,;]{1,100})*;base64,/i;

/** A picture that a body names, and the file of the form that it replaces. */
interface NamedPicture {
  name: 'image' | 'mask';
  field: string;
  value: JsonValue;
}

/**
 * OpenAI's JSON body of `/v1/images/edits` as the form that says the same: `images` and `mask` name each picture by
 * `image_url` (a data URL or an address) or by `file_id` (a file of `/v1/files`). xAI's clients write `url`, and one
 * picture as `image`. A Failure names the field; null when the caller left while sending.
 */
async function readEditBody(
  services: Services,
  exchange: Exchange,
  { principal }: Pick<ModelCall, 'principal'>,
): Promise<Multipart | Failure | null> {
  const raw = await readJsonBody(exchange, services.snapshots.current.config.server.body_limit);
  if (raw === null || !Buffer.isBuffer(raw)) return raw;
  const read = await services.bodies.readObject(principal.tenant, raw);
  if (isFailure(read)) return read;
  const files: FormFile[] = [];
  const release = async () => {
    await Promise.all(files.map(({ file }) => file.remove()));
  };
  try {
    const { image, ...body } = read.body;
    const { images, mask, ...others } = isObject(image) ? { images: [image], ...body } : read.body;
    const fields = fieldsOf(others);
    if (isFailure(fields)) return fields;
    const pictures = picturesIn(images, mask);
    if (isFailure(pictures)) return pictures;
    for (const picture of pictures) {
      const content = await contentOf(services, exchange, principal, picture);
      if (isFailure(content)) {
        await release();
        return content;
      }
      const file = await services.spool.place(principal.account);
      files.push({ name: picture.name, fileName: picture.name, mediaType: null, file, param: paramOf(picture) });
      await file.fill(Readable.from([content]));
    }
    return { fields, files, release };
  } catch (error) {
    await release();
    return failureIn(error);
  }
}

/** The members of the body as a form writes them; one that is null was left out. */
function fieldsOf(members: JsonObject): FormField[] | Failure {
  const fields: FormField[] = [];
  for (const [name, value] of Object.entries(members)) {
    if (value === null) continue;
    if (/^image\b/.test(name)) {
      return wrong(name, "is not known in JSON. Send 'images', a list of {image_url} or {file_id}.");
    }
    fields.push({ name, value: typeof value === 'string' ? value : JSON.stringify(value) });
  }
  return fields;
}

function picturesIn(images: JsonValue | undefined, mask: JsonValue | undefined): NamedPicture[] | Failure {
  if (!Array.isArray(images) || images.length === 0) {
    return wrong('images', 'must be a list of pictures, each {image_url} or {file_id}.');
  }
  if (images.length > picturesMax) {
    return wrong('images', `has ${images.length} pictures. Send at most ${picturesMax}.`);
  }
  const named = images.map((value, at): NamedPicture => ({ name: 'image', field: `images[${at}]`, value }));
  return mask === undefined || mask === null ? named : [...named, { name: 'mask', field: 'mask', value: mask }];
}

/** The member that names its content. */
function paramOf({ field, value }: NamedPicture): string {
  return `${field}.${isObject(value) && typeof value.file_id === 'string' ? 'file_id' : 'image_url'}`;
}

async function contentOf(
  services: Services,
  exchange: Exchange,
  { account, tenant }: Principal,
  picture: NamedPicture,
): Promise<Buffer | Failure> {
  const { field, value } = picture;
  const param = paramOf(picture);
  const { url: plain, image_url: url = plain, file_id: id } = objectIn(value);
  if (typeof id === 'string' && url == null) return uploaded(services, exchange, tenant, param, id);
  if (typeof url !== 'string' || id != null) return wrong(field, "must have one of 'image_url' and 'file_id', a text.");
  const head = dataUrl.exec(url.slice(0, 1_000))?.[0];
  if (head !== undefined) return Buffer.from(url.slice(head.length), 'base64');
  if (!/^https?:\/\//i.test(url)) return wrong(param, 'must be a data URL in base64, or begin with https://.');
  const held = services.uploads.room.hold(account);
  const disconnected = new AbortController();
  const giveUp = () => disconnected.abort();
  exchange.response.once('close', giveUp);
  try {
    const named = [{ url, param, kind: 'image' }] as const;
    const fetched = await services.media.fetch(named, { tenant, held }, fetchTimeoutMs, disconnected.signal);
    return isFailure(fetched) ? fetched : fetched[url]!.bytes;
  } finally {
    exchange.response.off('close', giveUp);
    held.giveBack();
  }
}

async function uploaded(
  { uploads }: Services,
  { held }: Exchange,
  tenant: string,
  field: string,
  id: string,
): Promise<Buffer | Failure> {
  const file = await uploads.find?.(tenant, id);
  if (file == null) {
    const message = `There is no file '${id.slice(0, 80)}' ('${field}'). Upload it to /v1/files, or send it inline.`;
    return { kind: 'not-found', message, param: field };
  }
  if (file.bytes > pictureBytesMax) return wrong(field, `names a file of more than ${pictureBytesMax >> 20} MB.`);
  const noRoom = held?.take(file.bytes) ?? null;
  if (noRoom !== null) return noRoom;
  return (await file.content()) ?? wrong(field, 'names a file that was deleted meanwhile.');
}

/** Largest size of one uploaded picture, which passes through memory: OpenAI's bound of those that are changed. */
const pictureBytesMax = 50 * 1024 * 1024;

function wrong(field: string, what: string): Failure {
  const shown = field.slice(0, 80);
  return invalid(shown, `'${shown}' ${what}`);
}
