import type { StorageHold } from '../../../books/metering/storage/storage-hold.ts';
import { fileNotFound } from '../../../inference/batches/batches.ts';
import type { NewFile, StoredFile, StoredFiles } from '../../../inference/batches/stored-files.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import type { OpenedVectorStores } from '../../../inference/vector-stores/open-vector-stores.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { type FormField, type Multipart, readMultipart } from '../../read-multipart.ts';
import { sendBytes } from '../../send-bytes.ts';
import { withHold } from '../../with-hold.ts';
import { answerWith, type StoredCall, type storedRoutes } from '../stored-route.ts';

export interface FilesParts {
  services: Services;
  files(): Promise<StoredFiles>;
  vectorStores: Pick<OpenedVectorStores, 'removeFile'>;
}

/** The parts of an API of files that differ by vendor. */
export interface FileFormat {
  /** Facts of an upload other than its name. A failure names the field. */
  factsOf(fields: readonly FormField[]): Pick<NewFile, 'purpose' | 'lifetimeMs'> | Failure;
  shown(file: StoredFile): JsonObject;
}

/** Largest size of one file. */
export const fileBytesMax = 512 * 1024 * 1024;
const formBytesMax = fileBytesMax + 1024 * 1024;
export const fileNameCharsMax = 512;

/** Deletes a file of this key, in its vector stores too. Throws a FailureError while a batch reads it. */
export async function removeFile(parts: FilesParts, exchange: Exchange, id: string): Promise<void> {
  const principal = callerOf(exchange);
  await (await parts.files()).remove(principal.tenant, id);
  await parts.vectorStores.removeFile({ principal, requestId: exchange.requestId }, id);
}

/** Facts, removal and content of a file of this key. `removed`: members of the answer that it is gone. */
export function oneFileRoutes(
  parts: FilesParts,
  route: ReturnType<typeof storedRoutes>,
  one: string,
  { shown, removed }: { shown: FileFormat['shown']; removed: JsonObject },
): Route[] {
  const remove = aboutFile(parts, async ({ id }, { exchange }) => {
    await removeFile(parts, exchange, id);
    return { id, ...removed };
  });
  const send = aboutFile(parts, async (file, { exchange }) => {
    await sendFile(exchange, await parts.files(), file);
    return null;
  });
  const show = aboutFile(parts, async (file) => shown(file));
  return [
    route('GET', one, 'A file', show),
    route('DELETE', one, 'Delete a file', remove),
    route('GET', `${one}/content`, 'The content of a file', send),
  ];
}

/** The file of this key. */
export async function fileOf({ files }: FilesParts, tenant: string, id: string): Promise<StoredFile | Failure> {
  return (await (await files()).shown(tenant, id)) ?? fileNotFound(id);
}

/** Answers a call about the file of this key that its path names; a 404 where there is none. */
function aboutFile(parts: FilesParts, answer: (file: StoredFile, call: StoredCall) => Promise<JsonObject | null>) {
  return async (call: StoredCall) => {
    const file = await fileOf(parts, call.tenant, call.params.id ?? '');
    return isFailure(file) ? file : answer(file, call);
  };
}

/** Characters that no name on a disk has, or that show one in another order. */
const unfitInNames = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** `Content-Disposition` of a download (RFC 6266): one part of a path, whatever name the file was uploaded under. */
function attachmentOf(name: string): string {
  const fit = name.toWellFormed().replace(unfitInNames, '').replace(/[/\\]/g, '_');
  const shown = /^\.*$/.test(fit) ? 'file' : fit;
  // For clients that know ASCII alone; some of them unescape percent signs, too.
  const plain = shown.replace(/[^ -~]|%/gu, '_');
  const quoted = `attachment; filename="${plain.replaceAll('"', '\\"')}"`;
  if (plain === shown) return quoted;
  // RFC 8187 has fewer characters as they are.
  const encoded = encodeURIComponent(shown).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
  return `${quoted}; filename*=UTF-8''${encoded}`;
}

/** The whole file as it is. */
export async function sendFile(exchange: Exchange, files: StoredFiles, file: StoredFile): Promise<void> {
  const type = ['content-type', 'application/octet-stream', 'content-disposition', attachmentOf(file.name)];
  const headers = [...(exchange.admitted?.headers ?? []), ...type];
  await sendBytes(exchange, { bytes: file.bytes, headers, content: files.read(file) });
}

/** Keeps the file of a form, and answers with its facts. */
export function uploadFile(parts: FilesParts, exchange: Exchange, format: FileFormat): Promise<void> {
  return answerForm(parts, exchange, formBytesMax, async (form, hold) => {
    const upload = readUpload(form, format);
    if (isFailure(upload)) return upload;
    const { content, ...facts } = upload;
    const { tenant } = callerOf(exchange);
    return format.shown(await (await parts.files()).create(tenant, { ...facts, hold }, content.read()));
  });
}

/** Reads a form with one file, within what the account may store, and answers with what `keep` makes of it. */
export function answerForm(
  { services }: FilesParts,
  exchange: Exchange,
  bodyBytes: number,
  keep: (form: Multipart, hold: StorageHold) => Promise<JsonObject | Failure>,
): Promise<void> {
  return answerWith(exchange, () =>
    withHold(services, callerOf(exchange).account, async (hold) => {
      const form = await readMultipart(exchange, services.spool, { bodyBytes, files: 1, hold });
      if (form === null || isFailure(form)) return form;
      try {
        return await keep(form, hold);
      } finally {
        // Before the answer: the caller's next request may need its place.
        await form.release();
      }
    }),
  );
}

function readUpload({ fields, files }: Multipart, format: FileFormat) {
  const file = files.find(({ name }) => name === 'file');
  if (file === undefined) return invalid('file', "The form has no file 'file'.");
  const facts = format.factsOf(fields);
  if (isFailure(facts)) return facts;
  const name = file.fileName.slice(0, fileNameCharsMax) || 'file';
  return { ...facts, name, mediaType: file.mediaType, content: file.file };
}

/** Value of the first field of this name; null: there is none. */
export function fieldOf(fields: readonly FormField[], fieldName: string): string | null {
  return fields.find(({ name }) => name === fieldName)?.value ?? null;
}
