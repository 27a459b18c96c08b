import { randomBytes } from 'node:crypto';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import type { ImageFormatId } from '../../../formats/media/images/format.ts';
import { imageFormats } from '../../../formats/media/images/index.ts';
import { pictureEnding } from '../../../formats/media/images/picture-type.ts';
import type { ImageRequest } from '../../../formats/neutral/image.ts';
import type { Loss } from '../../../formats/neutral/loss.ts';
import type { ProviderConnection } from '../../../formats/providers/provider-connection.ts';
import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import type { Target } from '../../../routing/target.ts';
import type { UpstreamUpload } from '../../../upstream/transport/upstream-call.ts';
import { GatheredWhole } from '../../spine/answer-reader.ts';
import type { PreparedBody } from '../../spine/job.ts';
import { type BodyPiece, type FormFile, formUpload, joinedUpload } from '../../spine/upload-body.ts';
import { DrawnStream } from './drawn-stream.ts';
import type { ImageEdit, UploadedPicture } from './image-edit.ts';

/**
 * One call for `count` pictures, in the target's own format. `preview`: gets events of unfinished pictures; null: they
 * are not asked for.
 */
export function prepareImages(
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
  if (format === 'stability') return editForm(body, edit ?? { pictures: [], mask: null });
  if (marked === null) return null;
  return format === 'openai' ? editForm(body, edit!) : marked.upload(body);
}

/** OpenAI's form for `/images/edits`: the members of `body` as fields, then the pictures. */
function editForm(body: JsonObject, { pictures, mask }: ImageEdit): Upload {
  const fields = Object.entries(body).map(([name, value = null]) => ({ name, value: fieldText(value) }));
  const fileOf = (name: string, fileName: string, { type, file }: UploadedPicture): FormFile => {
    return { name, fileName: `${fileName}.${pictureEnding[type]}`, mime: type, file };
  };
  // One alone goes by the name that older servers know.
  const name = pictures.length === 1 ? 'image' : 'image[]';
  const files = pictures.map((picture, i) => fileOf(name, `image-${i}`, picture));
  return formUpload(fields, mask === null ? files : [...files, fileOf('mask', 'mask', mask)]);
}

function fieldText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
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
