import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { BusboyInstance } from '@fastify/busboy';
import { readWavHeader, wavDurationMs } from '../../engines/audio/wav.ts';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';

/** Enough for the chunks that programs write before the samples of a wav file, such as ffmpeg's name. */
const headBytes = 4_096;
const partsMax = 200;
const fieldBytesMax = 1_048_576;

/** Whether a request carries a form with files. */
export function isMultipart({ headers }: IncomingMessage): boolean {
  return /^multipart\/form-data\b/i.test(headers['content-type'] ?? '');
}

/**
 * Reads a form as it comes and calls back once, at its end, with its fields as an object: several of one name, or of a
 * name that ends in `[]`, become a list without the brackets. A file becomes its facts; its bytes are not kept, so a
 * hundred megabytes take a few KB. Null when it is not a form; no call if it breaks off.
 */
export async function readMultipart(
  request: IncomingMessage,
  then: (fields: JsonObject | null) => void,
): Promise<void> {
  const fields: JsonObject = {};
  let ended = false;
  const end = (value: JsonObject | null): void => {
    if (ended) return;
    ended = true;
    then(value);
  };
  const form = await formOf(request);
  if (form === null) {
    request.resume();
    request.on('end', () => end(null));
    return;
  }
  form.on('field', (name: string, value: string) => add(fields, name, value));
  form.on('file', (name, stream, filename, _encoding, contentType) => {
    const hash = createHash('sha256');
    let head = Buffer.alloc(0);
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => {
      hash.update(chunk);
      bytes += chunk.length;
      if (head.length < headBytes) head = Buffer.concat([head, chunk]).subarray(0, headBytes);
    });
    stream.on('end', () => {
      const seconds = secondsOfSound(head, bytes);
      add(fields, name, { filename, content_type: contentType, bytes, sha256: hash.digest('hex'), seconds });
    });
  });
  form.on('finish', () => end(fields));
  form.on('error', () => {
    request.unpipe(form);
    request.resume();
    end(null);
  });
  request.pipe(form);
}

async function formOf({ headers }: IncomingMessage): Promise<BusboyInstance | null> {
  // Loaded at the first form: most who start never send one.
  const { Busboy } = await import('@fastify/busboy');
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': headers['content-type']! },
      limits: { parts: partsMax, fieldSize: fieldBytesMax },
    });
  } catch {
    // Without a boundary it is not a form.
    return null;
  }
}

function add(fields: JsonObject, name: string, value: JsonValue): void {
  const isList = name.endsWith('[]');
  const key = isList ? name.slice(0, -2) : name;
  const before = Object.hasOwn(fields, key) ? fields[key] : undefined;
  if (before === undefined) fields[key] = isList ? [value] : value;
  else fields[key] = [...(Array.isArray(before) ? before : [before]), value];
}

/** Rate of most compressed audio; a guess is enough, because nobody listens. */
const usualBytesPerSecond = 16_000;
const secondsMin = 0.1;

/** Seconds of a sound: from a wav's header, else guessed by its size. `head`: its first bytes. */
function secondsOfSound(head: Buffer, bytes: number): number {
  const wav = readWavHeader(head);
  const ms = wav === null || wav === 'more' ? (bytes * 1_000) / usualBytesPerSecond : wavDurationMs(wav, bytes);
  return Math.max(secondsMin, Math.round(ms) / 1_000);
}
