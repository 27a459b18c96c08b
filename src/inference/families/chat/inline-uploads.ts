import { isUtf8 } from 'node:buffer';
import type { CallerDialectId } from '../../../formats/dialects/dialect.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import type { InlineFile } from '../../../formats/dialects/inline-files.ts';
import type { NamedObject } from '../../../formats/dialects/named-objects.ts';
import { mediaTypeOf } from '../../../formats/neutral/media-type.ts';
import { type Failure, failureIn, invalid, isFailure } from '../../../kernel/failure.ts';
import { isSortedId } from '../../../kernel/ids.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { RoomHold } from '../../../kernel/sharing/room.ts';

/** A file of `/v1/files`. */
export interface UploadedFile {
  name: string;
  bytes: number;
  /** The type that its owner gave; null: it is unknown. */
  mediaType: string | null;
  /** Null: it was deleted meanwhile. */
  content(): Promise<Buffer | null>;
  /** The same piece by piece; throws where it was deleted meanwhile. */
  read(): AsyncIterable<Buffer>;
}

/** Given by the composition: the tenant's file of this id; null: it has none. */
export type FindUpload = (tenant: string, id: string) => Promise<UploadedFile | null>;

/** Limit of all files in one request, each as often as it is named: the same as for fetched media. */
const bytesMax = 20 * 1024 * 1024;
const filesMax = 64;
const base64Growth = 4 / 3;

/**
 * The body with the content of files that its sender has uploaded here, in place of their ids: no provider knows these.
 * `held` gets room for it. Null: it names none. Ids of other tenants are unknown, and stay; the look for their owner
 * refuses them.
 */
export async function withUploads(
  find: FindUpload,
  { tenant, held }: { tenant: string; held: RoomHold },
  dialectId: CallerDialectId,
  raw: Buffer,
  named: readonly NamedObject[],
): Promise<Buffer | Failure | null> {
  const { inlineFiles } = dialects[dialectId];
  if (inlineFiles === undefined) return null;
  const fieldsById = Map.groupBy(named.filter(isUpload), ({ id }) => id);
  try {
    const files = await readAll(find, tenant, fieldsById, held);
    if (isFailure(files)) return files;
    if (files.size === 0) return null;
    let bytes = 0;
    let failure: Failure | null = null;
    const body = inlineFiles(JSON.parse(raw.toString('utf8')) as JsonObject, (id) => {
      const file = typeof id === 'string' ? files.get(id) : undefined;
      if (file === undefined) return undefined;
      // An id may be in more places than those that are known to name files.
      bytes += file.bytes;
      if (bytes > bytesMax) failure ??= tooLarge(file.field);
      return failure === null ? file : undefined;
    });
    return failure ?? Buffer.from(JSON.stringify(body));
  } catch (error) {
    return failureIn(error);
  }
}

/** Whether the id has the form of those that this gateway gives to uploads. */
export function isUpload({ id, use }: NamedObject): boolean {
  return use === 'reference' && isSortedId('file-', id);
}

async function readAll(
  find: FindUpload,
  tenant: string,
  fieldsById: ReadonlyMap<string, readonly NamedObject[]>,
  held: RoomHold,
): Promise<Map<string, InlineFile & { bytes: number }> | Failure> {
  const files = new Map<string, InlineFile & { bytes: number }>();
  let bytes = 0;
  for (const [id, places] of fieldsById) {
    const { field } = places[0]!;
    if (files.size === filesMax) return refused(field, `A request may name at most ${filesMax} files`);
    const file = await find(tenant, id);
    if (file === null) continue;
    bytes += file.bytes * places.length;
    if (bytes > bytesMax) return tooLarge(field);
    const noRoom = held.take(Math.ceil(file.bytes * places.length * base64Growth));
    if (noRoom !== null) return noRoom;
    const content = await file.content();
    if (content === null) continue;
    const inline = inlineOf(file, field, content);
    if (isFailure(inline)) return inline;
    files.set(id, { ...inline, bytes: file.bytes });
  }
  return files;
}

function inlineOf(
  { name, mediaType: given }: Pick<UploadedFile, 'name' | 'mediaType'>,
  field: string,
  content: Buffer,
): InlineFile | Failure {
  const mediaType = mediaTypeOf(content);
  if (mediaType !== null) {
    const kind = mediaType.startsWith('image/') ? 'image' : 'pdf';
    return { kind, name, field, mediaType, base64: content.toString('base64') };
  }
  if (given !== null && /^(?:audio|video)\//.test(given)) {
    return { kind: 'media', name, field, mediaType: given, base64: content.toString('base64') };
  }
  if (!isUtf8(content) || content.includes(0)) {
    return refused(field, `The file ${JSON.stringify(name.slice(0, 60))} is neither a picture nor a PDF nor a text`);
  }
  return { kind: 'text', name, field, text: content.toString('utf8').replace(/^\uFEFF/, '') };
}

function tooLarge(field: string): Failure {
  return refused(field, `The files of a request may have at most ${bytesMax >> 20} MB together`);
}

function refused(field: string, message: string): Failure {
  return invalid(field, `${message} ('${field}').`);
}
