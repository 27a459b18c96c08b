import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backoffMs } from '../../kernel/backoff.ts';
import { AddFailed, type HostedFile, reach } from './model-host.ts';

/** Tries at one file, each going on where the last one broke off. One that brought something begins the count anew. */
const triesMax = 5;
const rests = { firstMs: 1_000, maxMs: 30_000 };
/** A host that sends nothing for this long is asked again. */
const silenceMs = 60_000;

export interface DownloadParts {
  signal: AbortSignal;
  /** Bytes of this file that are there by now. */
  onBytes(bytes: number): void;
  /** Waits between two tries. */
  rest(ms: number, signal: AbortSignal): Promise<void>;
}

/**
 * Brings a file to `to`, whole and checked, and returns its SHA-256; it continues an earlier part. Throws AddFailed
 * with a sentence; the part so far is kept for the next time, unless it is not the right file.
 */
export async function downloadFile(file: HostedFile, to: string, parts: DownloadParts): Promise<string> {
  const present = await checkedFile(file, to);
  if (present !== null) {
    parts.onBytes(file.bytes);
    return present;
  }
  const part = `${to}.part`;
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  let tries = 0;
  let before = await bytesIn(part);
  while (before !== file.bytes) {
    const failure = await fetchRest(file, part, before, parts);
    const now = await bytesIn(part);
    if (failure === null && now === file.bytes) break;
    tries = now > before ? 1 : tries + 1;
    before = now;
    if (failure?.final || tries >= triesMax) {
      throw new AddFailed(`${file.url} could not be downloaded: ${failure?.why ?? 'it ended too early'}.`);
    }
    await parts.rest(backoffMs(tries, rests), parts.signal);
  }
  const sha256 = await checkedFile(file, part);
  if (sha256 === null) {
    await rm(part, { force: true });
    throw new AddFailed(
      `${file.url} is not the expected file: its checksum is wrong. Culvert removed the download. Try again. If it fails again, do not trust the host, or something between it and this machine.`,
    );
  }
  await rename(part, to);
  return sha256;
}

interface Broken {
  why: string;
  /** Another try would bring the same. */
  final: boolean;
}

/** Null when the host has ended its answer well. */
async function fetchRest(file: HostedFile, part: string, from: number, parts: DownloadParts): Promise<Broken | null> {
  const stalled = new AbortController();
  const signal = AbortSignal.any([parts.signal, stalled.signal]);
  let timer = setTimeout(() => stalled.abort(), silenceMs);
  try {
    const headers: Record<string, string> = { 'accept-encoding': 'identity' };
    if (from > 0) headers.range = `bytes=${from}-`;
    const answer = await reach(new URL(file.url), { headers, signal });
    if (answer.status !== 200 && answer.status !== 206) {
      await answer.body?.cancel();
      // A part that is longer than the file is not of this file.
      if (answer.status === 416) await rm(part, { force: true });
      return {
        why: `the host answered ${answer.status}`,
        final: answer.status < 500 && ![408, 416, 429].includes(answer.status),
      };
    }
    // 200 to a range: the host sends everything anew.
    let done = answer.status === 206 ? from : 0;
    const out = await open(part, done > 0 ? 'a' : 'w', 0o600);
    try {
      for await (const piece of answer.body ?? []) {
        clearTimeout(timer);
        timer = setTimeout(() => stalled.abort(), silenceMs);
        done += piece.length;
        if (done > file.bytes) {
          await out.truncate(0);
          return { why: 'the host sent more than the file', final: false };
        }
        await out.write(piece);
        parts.onBytes(done);
      }
    } finally {
      await out.close();
    }
    return null;
  } catch (error) {
    parts.signal.throwIfAborted();
    if (isDisk(error)) throw new AddFailed(`${part} cannot be written (${error.code}).`);
    return { why: stalled.signal.aborted ? 'the host sent nothing for a minute' : messageOf(error), final: false };
  } finally {
    clearTimeout(timer);
  }
}

/** Its SHA-256 when it is there, whole and correct. */
async function checkedFile({ bytes, digest }: HostedFile, path: string): Promise<string | null> {
  if ((await bytesIn(path)) !== bytes) return null;
  const sha256 = createHash('sha256');
  const git = createHash('sha1').update(`blob ${bytes}\0`);
  for await (const piece of createReadStream(path)) {
    sha256.update(piece as Buffer);
    if (digest?.kind === 'git-sha1') git.update(piece as Buffer);
  }
  const hex = sha256.digest('hex');
  if (digest !== null && digest.hex !== (digest.kind === 'sha256' ? hex : git.digest('hex'))) return null;
  return hex;
}

async function bytesIn(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}

function isDisk(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && /^(ENOSPC|EDQUOT|EROFS|EACCES|EIO)$/.test(String(error.code));
}

function messageOf(error: unknown): string {
  if (error instanceof AddFailed) return error.message;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : String(cause);
}
