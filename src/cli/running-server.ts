import { existsSync } from 'node:fs';
import { culvert } from '../kernel/command-form.ts';
import { dataFolderAt, keyFiles, readIfThere } from '../stores/sqlite/data-folder.ts';
import { lockOwner } from '../stores/sqlite/data-folder-lock.ts';
import { CommandFailed } from './command-failed.ts';
import { placeReader, type ServerPlace } from './read-config.ts';

/** How a command reaches a server. A key in the environment does not show in the process list, one in `--key` does. */
export interface ServerFlags {
  url?: string | undefined;
  key?: string | undefined;
  config?: string | undefined;
}

/** Address of the server: `--url`, `CULVERT_URL`, or the server that holds the data folder; null when none runs. */
export function serverUrl(flags: ServerFlags, config: () => ServerPlace): string | null {
  const named = namedUrl(flags);
  if (named !== undefined) return checkedUrl(named);
  const folder = dataFolderAt(config().storage.data_dir);
  // Does not make a folder only to find that nobody uses it.
  if (!existsSync(folder.lockFile)) return null;
  const owner = lockOwner(folder);
  if (owner === null || owner.url !== null) return owner?.url ?? null;
  throw new CommandFailed(
    `Another command (process ${owner.pid}) is using ${folder.path}. Try again when it has ended.`,
  );
}

function namedUrl({ url }: ServerFlags): string | undefined {
  return url ?? (process.env.CULVERT_URL || undefined);
}

/** A server is named: what is on this machine says nothing of it. */
export function isNamed(flags: ServerFlags): boolean {
  return namedUrl(flags) !== undefined;
}

export function keyMissing(): CommandFailed {
  return new CommandFailed(`No key is set. Put one into CULVERT_API_KEY; ${culvert} keys create makes one.`);
}

/** `--key`, `CULVERT_API_KEY`, else what the first start of the server at `url` has kept in its data folder. */
export function apiKey(flags: ServerFlags, url: string | null, config: () => ServerPlace): string | null {
  const named = flags.key ?? (process.env.CULVERT_API_KEY || null);
  if (named !== null || url === null) return named;
  const folder = dataFolderAt(config().storage.data_dir);
  // It opens the server of the same data folder, and is not shown to another one.
  if (!existsSync(folder.lockFile) || lockOwner(folder)?.url !== url) return null;
  return readIfThere(keyFiles(folder).first)?.trim() || null;
}

/** The server and the key of a command that needs both. Throws a sentence where one is missing. */
export function serverAndKey(flags: ServerFlags): { url: string; key: string } {
  const config = placeReader(flags.config);
  const url = serverUrl(flags, config);
  if (url === null)
    throw new CommandFailed(`No server runs here. Start one with ${culvert} start, or set CULVERT_URL.`);
  const key = apiKey(flags, url, config);
  if (key === null) throw keyMissing();
  return { url, key };
}

function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CommandFailed(`'${text}' is not the URL of a server. Give one such as http://127.0.0.1:4141`, 2);
  }
  // People paste the base URL of their SDK.
  return url.href.replace(/\/+$/, '').replace(/\/v1$/, '');
}

/** One request with the key; no answer is a sentence, an error answer is its own message. */
export async function ask(url: string, path: string, key: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await reach(url, path, { ...init, headers });
  if (response.ok) return response;
  const text = (await response.text().catch(() => '')).slice(0, errorTextCharsMax);
  const { message, param } = errorIn(text) ?? { message: response.statusText || 'no message', param: null };
  throw new CommandFailed(`${url} answered ${response.status}: ${message}`, 1, { status: response.status, param });
}

/** One request without changes. A missing answer becomes a sentence. */
export async function reach(url: string, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url + path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new CommandFailed(
      `No answer from ${url} (${causeOf(error)}). If no server runs, start one: ${culvert} start.`,
    );
  }
}

/** The JSON of an answer. Another text, or one that is cut, becomes a sentence. */
export async function jsonOf(response: Response, url: string): Promise<unknown> {
  const text = await response.text().catch((error: unknown) => {
    const why = `${url} ended its answer too early (${causeOf(error)})`;
    throw new CommandFailed(`${why}. What was to be done may be done: look before you try again.`);
  });
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    throw notCulvert(url);
  }
}

export function notCulvert(url: string): CommandFailed {
  return new CommandFailed(`${url} answers, but not as Culvert does. Check that its URL is that of a Culvert server.`);
}

export const errorTextCharsMax = 64 * 1024;
const messageCharsMax = 2_000;

/** Message of an error body of ours; null for a body that is not ours: a proxy's page says nothing in one sentence. */
export function errorIn(text: string): { message: string; param: string | null } | null {
  try {
    const { message, param } =
      (JSON.parse(text) as { error?: { message?: unknown; param?: unknown } } | null)?.error ?? {};
    if (typeof message !== 'string') return null;
    return { message: message.slice(0, messageCharsMax), param: typeof param === 'string' ? param : null };
  } catch {
    return null;
  }
}

/** The code, or else the message, of the error that prevented an answer. */
export function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  // A DOMException has a number, which says nothing to anybody.
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return cause instanceof Error ? cause.message : String(cause);
}
