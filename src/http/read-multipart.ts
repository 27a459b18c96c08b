import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { StorageHold } from '../books/metering/storage/storage-hold.ts';
import { type Failure, FailureError, invalid, isFailure } from '../kernel/failure.ts';
import type { RoomHold } from '../kernel/sharing/room.ts';
import type { Spool, SpooledFile } from '../net/spool.ts';
import { firstBodyTurn, nextBodyTurn, turnBytesMax } from './body-turns.ts';
import type { Exchange } from './exchange.ts';
import { BodyPace, wrongEncoding } from './read-body.ts';

/** An upload, its parts in the order in which they came. */
export interface Multipart {
  fields: readonly FormField[];
  files: readonly FormFile[];
  /** Removes its files from disk. Idempotent. */
  release(): Promise<void>;
}

export interface FormField {
  name: string;
  value: string;
}

export interface FormFile {
  /** Name of the form's field. */
  name: string;
  /** Name from the caller, which nobody trusts. */
  fileName: string;
  /** Type from the caller, in small letters; null: it gave none, or one that says nothing. */
  mediaType: string | null;
  file: SpooledFile;
  /** The parameter's name in errors, where it did not come in a form. */
  param?: string;
}

export interface MultipartBounds {
  /** Bound of the whole body. */
  bodyBytes: number;
  files: number;
  /** Their bytes count against the account's storage as they come. */
  hold?: Pick<StorageHold, 'grow'>;
}

/** Fields and files together; the forms that clients send have a dozen. */
const partsMax = 64;
/** Fields may be data URLs: the first picture of a video, or ten seconds of each known speaker. */
const fieldBytesMax = 2 * 1024 * 1024;
/** Over all fields: what of an upload is held in memory. */
const fieldsBytesMax = 4 * fieldBytesMax;
const partHeaderBytesMax = 8 * 1024;
const partHeadersMax = 16;
/** Bytes of a file between the socket and the disk. */
const fileBufferBytes = 64 * 1024;

/**
 * The parts of a `multipart/form-data` body in any order, with files on disk. It is a Failure for another content type
 * (415), for more than `bounds.bodyBytes` (413), for a body that comes too slowly (408, http/read-body) or has no room
 * (503), and for a form that is cut, garbled or has too many or too large parts (400). Null when the caller left while
 * it sent. Nothing is left on disk then.
 */
export async function readMultipart(
  exchange: Exchange,
  spool: Spool,
  bounds: MultipartBounds,
): Promise<Multipart | Failure | null> {
  const { headers } = exchange.request;
  const refused = wrongEncoding(headers['content-encoding']) ?? wrongMediaType(headers['content-type']);
  if (refused !== null) return refused;
  const declared = headers['content-length'];
  if (declared !== undefined && Number(declared) > bounds.bodyBytes) {
    return { kind: 'body-too-large', limitBytes: bounds.bodyBytes };
  }
  const parser = createParser(headers['content-type']!, bounds);
  if (isFailure(parser)) return parser;
  if (exchange.response.destroyed) return null;
  if (headers.expect !== undefined) exchange.response.writeContinue();

  const upload = new Upload(spool, exchange.principal?.account ?? '');
  const ended = await receive(exchange, parser, upload, bounds);
  if (ended !== 'complete') {
    parser.destroy();
    await upload.release();
    // What is left is read for nobody: the connection would serve no other request before.
    setImmediate(() => exchange.request.resume());
    if (ended instanceof Error) throw ended;
    return ended;
  }
  return upload;
}

function createParser(contentType: string, bounds: MultipartBounds): BusboyInstance | Failure {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      fileHwm: fileBufferBytes,
      limits: {
        parts: partsMax,
        files: bounds.files,
        fieldSize: fieldBytesMax,
        headerPairs: partHeadersMax,
        headerSize: partHeaderBytesMax,
      },
    });
  } catch {
    return invalid(null, "The Content-Type 'multipart/form-data' must name its boundary.");
  }
}

/** How reading a form ended; null: the caller left, an Error: for the log. */
type Received = 'complete' | Failure | Error | null;

/** Feeds the body to the parser until both are at their end, or something is wrong. */
function receive(
  exchange: Exchange,
  parser: BusboyInstance,
  upload: Upload,
  bounds: MultipartBounds,
): Promise<Received> {
  const { request } = exchange;
  return new Promise((resolve) => {
    let receivedBytes = 0;
    let turnBytes = 0;
    let settled = false;
    // After the disk, too: forty that waited for it go on in one turn of the loop.
    const readOn = () =>
      void nextBodyTurn(exchange).then(() => {
        turnBytes = 0;
        if (!settled) request.resume();
      });
    const settle = (result: Received) => {
      if (settled) return;
      settled = true;
      pace.end();
      request.pause();
      resolve(result);
    };
    const pace = new BodyPace(request, bounds.bodyBytes, settle);
    takeParts(exchange.held, parser, upload, bounds.files, settle);
    parser.on('drain', readOn);

    const add = (chunk: Buffer) => {
      if (settled) return;
      receivedBytes += chunk.length;
      if (receivedBytes > bounds.bodyBytes) return settle({ kind: 'body-too-large', limitBytes: bounds.bodyBytes });
      const full = bounds.hold?.grow(chunk.length) ?? null;
      if (full !== null) return settle(full);
      pace.came(chunk.length);
      turnBytes += chunk.length;
      if (!parser.write(chunk)) request.pause();
      else if (turnBytes >= turnBytesMax) readOn();
    };
    void firstBodyTurn(exchange).then(() => request.on('data', add));
    let arrived = false;
    request.on('end', () => {
      arrived = true;
      parser.end();
    });
    // It closes behind its end too, when files may still be on their way to the disk.
    request.on('close', () => {
      if (!arrived) settle(null);
    });
    request.on('error', () => settle(null));
  });
}

/** Gives the parser's fields and files to the upload; `settle` gets the end of the form, or what is wrong with it. */
function takeParts(
  held: RoomHold | null,
  parser: BusboyInstance,
  upload: Upload,
  filesMax: number,
  settle: (result: Received) => void,
): void {
  let fieldsBytes = 0;
  const refuse = (param: string | null, message: string) => settle(invalid(param, message));

  parser.on('field', (name: string | undefined, value, nameCut, valueCut) => {
    if (name === undefined || nameCut) return refuse(null, 'A part of the form has no name.');
    if (valueCut) return refuse(shown(name), `'${shown(name)}' is longer than ${fieldBytesMax} bytes.`);
    const valueBytes = Buffer.byteLength(value);
    const noRoom = held === null ? null : held.take(valueBytes);
    if (noRoom !== null) return settle(noRoom);
    fieldsBytes += valueBytes;
    if (fieldsBytes > fieldsBytesMax) refuse(null, `The form's fields hold more than ${fieldsBytesMax} bytes.`);
    else upload.fields.push({ name, value });
  });
  parser.on('file', (name: string | undefined, stream: Readable, fileName: string | undefined, _coding, type) => {
    if (name === undefined) {
      stream.on('error', () => undefined);
      stream.resume();
      return refuse(null, 'A part of the form has no name.');
    }
    // Browsers and SDKs write a quote so (HTML, "multipart form data").
    const plainName = (fileName ?? '').replaceAll('%22', '"');
    upload.take({ name, fileName: plainName, mediaType: declaredType(type) }, stream).catch((error: Error) => {
      // A file that breaks off is the form's fault, which the parser tells in words.
      if (error instanceof FailureError) settle(error.failure);
      else if (!stream.errored) settle(error);
    });
  });
  parser.on('partsLimit', () => refuse(null, `The form has more than ${partsMax} parts.`));
  parser.on('filesLimit', () => refuse(null, `The form has more than ${filesMax} file${filesMax === 1 ? '' : 's'}.`));
  parser.on('error', () => refuse(null, 'The body is not a whole multipart form: its last boundary is missing.'));
  parser.on('finish', () => {
    upload.written().then(() => settle('complete'), settle);
  });
}

class Upload implements Multipart {
  readonly fields: FormField[] = [];
  readonly files: FormFile[] = [];
  readonly #spool: Spool;
  readonly #account: string;
  readonly #writing: Promise<void>[] = [];
  readonly #sources: Readable[] = [];
  #state: 'open' | 'released' = 'open';

  constructor(spool: Spool, account: string) {
    this.#spool = spool;
    this.#account = account;
  }

  take(part: Omit<FormFile, 'file'>, source: Readable): Promise<void> {
    // Until the part is read it waits, and with it the parser and the socket.
    source.on('error', () => undefined);
    // Its place in the list is that in the form, whichever file is opened first.
    const at = this.#sources.push(source) - 1;
    const writing = this.#write(at, part, source);
    this.#writing.push(writing);
    return writing;
  }

  async #write(at: number, part: Omit<FormFile, 'file'>, source: Readable): Promise<void> {
    const file = await this.#spool.place(this.#account);
    this.files[at] = { ...part, file };
    if (this.#state === 'released') return file.remove();
    await file.fill(source);
  }

  /** Resolves when all that came is on disk. */
  async written(): Promise<void> {
    await Promise.all(this.#writing);
  }

  async release(): Promise<void> {
    if (this.#state === 'released') return;
    this.#state = 'released';
    for (const source of this.#sources) source.destroy();
    // Waits for the present write first: a file that is removed before it is opened would stay.
    await Promise.allSettled(this.#writing);
    await Promise.all(this.files.map(({ file }) => file.remove()));
  }
}

function wrongMediaType(contentType: string | undefined): Failure | null {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType === 'multipart/form-data') return null;
  return {
    kind: 'unsupported-media-type',
    received: contentType?.slice(0, 80) ?? null,
    expected: 'multipart/form-data',
  };
}

function declaredType(type: string | undefined): string | null {
  const lowered = type?.toLowerCase() ?? '';
  return mediaTypeForm.test(lowered) && lowered !== 'application/octet-stream' ? lowered : null;
}

const mediaTypeForm = /^[a-z]+\/[a-z0-9!#$&^_.+-]{1,100}$/;

/** Callers choose their fields' names. */
function shown(name: string): string {
  return name.slice(0, 80);
}
