import { join } from 'node:path';
import type { AdminApi, AdminMethod, AdminReply } from '../admin/admin-api.ts';
import { cliOperator } from '../books/auth/operator.ts';
import type { JsonObject } from '../kernel/json.ts';
import { offLoopBodyBytes } from '../kernel/limits.ts';
import { dataFolderAt, readIfThere } from '../stores/sqlite/data-folder.ts';
import { CommandFailed } from './command-failed.ts';
import type { LocalFlags } from './options.ts';
import type { CliParts } from './parts.ts';
import { createProgress, type Progress } from './progress.ts';
import { loadHere, placeReader, readConfig, type ServerPlace } from './read-config.ts';
import { errorIn, errorTextCharsMax, jsonOf, notCulvert, reach, serverUrl } from './running-server.ts';

/** Options of every command that works over the admin API. */
export interface AdminFlags extends LocalFlags {
  url?: string | undefined;
}

export type AdminQuery = Readonly<Record<string, string | number | undefined>>;

/** The admin API as commands use it: over HTTP where a server runs, else in this process. */
export interface AdminClient {
  /** Whom it asks; null: the stores themselves, since no server runs. */
  readonly server: string | null;
  /** The reply's JSON. `path` is below /admin/v1. Throws `AdminRefused` for an error reply. */
  request(method: AdminMethod, path: string, given?: { query?: AdminQuery; body?: unknown }): Promise<unknown>;
  /** A reply of any length, as it comes. Throws `AdminRefused` before its first piece. */
  read(path: string, query?: AdminQuery): AsyncIterable<string>;
}

/** An error reply; the message is the API's own. */
export class AdminRefused extends CommandFailed {
  readonly status: number;
  /** The field that it is about; null for none. */
  readonly param: string | null;
  /** The reply's body, '' when it could not be read. */
  readonly text: string;
  constructor(sentence: string, reply: { status: number; param: string | null; text: string }) {
    super(sentence, 1, { status: reply.status, param: reply.param });
    this.status = reply.status;
    this.param = reply.param;
    this.text = reply.text;
  }
}

/**
 * Runs `work` with the client that fits: the server of `--url`, CULVERT_URL or the data folder, else this process. Its
 * progress says whom it waits for, until the command knows better.
 */
export async function withAdmin<T>(
  flags: AdminFlags,
  parts: Pick<CliParts, 'adminApi'>,
  work: (admin: AdminClient, progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = createProgress(flags, 'waits');
  try {
    return await withClient(flags, parts, progress, work);
  } finally {
    progress.end();
  }
}

async function withClient<T>(
  flags: AdminFlags,
  parts: Pick<CliParts, 'adminApi'>,
  progress: Progress,
  work: (admin: AdminClient, progress: Progress) => Promise<T>,
): Promise<T> {
  const place = placeReader(flags.config);
  const url = serverUrl(flags, place);
  if (url !== null) {
    const named = flags.url !== undefined || Boolean(process.env.CULVERT_URL);
    const key = adminKey(url, named, place);
    if (key !== null) {
      progress.at(`waiting for ${url}`);
      return work(overHttp(url, key), progress);
    }
    if (named) throw new CommandFailed(`No admin key for ${url} is known here. Put it into CULVERT_ADMIN_KEY.`);
    // A server without an admin key has no admin API. Its stores are here nevertheless, and it sees changes of them.
  }
  const config = readConfig(flags.config);
  progress.at(`working in ${config.storage.data_dir}`);
  const { api, close } = await parts.adminApi(config, loadHere(flags.config).file);
  try {
    return await work(inProcess(api), progress);
  } finally {
    await close();
  }
}

/** Null: none is known here. The generated key opens the server of the same data folder, and no other server gets it. */
export function adminKey(url: string, named: boolean, config: () => ServerPlace): string | null {
  const fromEnvironment = process.env.CULVERT_ADMIN_KEY;
  if (fromEnvironment) return fromEnvironment;
  const { admin, storage } = config();
  if (admin.key !== undefined) return admin.key;
  const { hostname } = new URL(url);
  if (named && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return null;
  return readIfThere(join(dataFolderAt(storage.data_dir).path, 'admin.key'))?.trim() || null;
}

const pathPrefix = '/admin/v1';

/** Over HTTP, to the server at `url` (no trailing slash). */
export function overHttp(url: string, key: string): AdminClient {
  async function answer(method: AdminMethod, path: string, given: { query?: AdminQuery; body?: unknown }) {
    const search = searchOf(given.query).toString();
    const response = await reach(url, `${pathPrefix}${path}${search === '' ? '' : `?${search}`}`, {
      method,
      // The key goes where it was sent, and nowhere else.
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${key}`,
        ...(given.body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(given.body !== undefined && { body: JSON.stringify(given.body) }),
    });
    if (response.ok) {
      // Any server may have a page at any path: a command must not take it for its result.
      if (!response.headers.has('x-culvert-request-id')) throw notCulvert(url);
      return response;
    }
    const text = (await response.text().catch(() => '')).slice(0, errorTextCharsMax);
    throw refused(response.status, text, url);
  }
  return {
    server: url,
    async request(method, path, given = {}) {
      return jsonOf(await answer(method, path, given), url);
    },
    async *read(path, query) {
      const { body } = await answer('GET', path, query === undefined ? {} : { query });
      if (body === null) return;
      try {
        yield* body.pipeThrough(new TextDecoderStream());
      } catch {
        throw new CommandFailed(`${url} ended its answer too early, so the answer is not complete.`);
      }
    },
  };
}

export function inProcess(api: AdminApi): AdminClient {
  async function answer(method: AdminMethod, path: string, given: { query?: AdminQuery; body?: unknown }) {
    const text = given.body === undefined ? '' : JSON.stringify(given.body);
    // No loop is held up here.
    const body = text.length > offLoopBodyBytes ? (JSON.parse(text) as JsonObject) : text;
    const query = searchOf(given.query);
    const reply = await api.handle({ method, path, query, body, text, operator: cliOperator });
    if (reply.status < 300) return reply.body;
    throw refused(reply.status, await wholeText(reply.body), null);
  }
  return {
    server: null,
    async request(method, path, given = {}) {
      const text = await wholeText(await answer(method, path, given));
      return text === '' ? null : JSON.parse(text);
    },
    async *read(path, query) {
      const body = await answer('GET', path, query === undefined ? {} : { query });
      if (typeof body === 'string') yield body;
      else for await (const piece of body) yield textOf(piece);
    },
  };
}

function searchOf(query: AdminQuery | undefined): URLSearchParams {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(name, String(value));
  return search;
}

async function wholeText(body: AdminReply['body']): Promise<string> {
  if (typeof body === 'string') return body;
  let text = '';
  for await (const piece of body) text += textOf(piece);
  return text;
}

/** Commands ask for text only. */
function textOf(piece: string | Uint8Array): string {
  return typeof piece === 'string' ? piece : Buffer.from(piece).toString('utf8');
}

function refused(status: number, text: string, server: string | null): AdminRefused {
  const reported = errorIn(text);
  const param = reported?.param ?? null;
  return new AdminRefused(sentenceOf(reported, status, server), { status, param, text });
}

function sentenceOf(reported: ReturnType<typeof errorIn>, status: number, server: string | null): string {
  if (reported === null)
    return `${server ?? 'The admin API'} answered ${status}, but not as Culvert does. Check the URL.`;
  const { message, param } = reported;
  if (server !== null && (status === 401 || status === 403)) {
    return `${server} did not accept the admin key: ${message} Set CULVERT_ADMIN_KEY to the key of that server.`;
  }
  return param === null || message.startsWith(param) ? message : `${param}: ${message}`;
}
