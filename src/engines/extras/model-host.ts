import type { ManifestFile, ModelManifest } from './model-manifest.ts';

/** Default host of models; CULVERT_MODEL_HOST names a mirror of the same paths. */
export const defaultModelHost = 'https://huggingface.co';

const redirectsMax = 5;
/** Files that are asked about concurrently. */
const atOnce = 4;

/** Expected hash of a file's content. */
export interface FileDigest {
  kind: 'sha256' | 'git-sha1';
  hex: string;
  from: 'culvert' | 'host';
}

export interface HostedFile {
  path: string;
  url: string;
  bytes: number;
  digest: FileDigest | null;
}

export interface HostedModel {
  /** The commit that its revision means, which all files are taken from; null where the host has none. */
  commit: string | null;
  files: readonly HostedFile[];
}

/** The message says what to do. */
export class AddFailed extends Error {}

/** Asks the host about every file of a model, downloading none. */
export async function askHost(host: string, manifest: ModelManifest, signal: AbortSignal): Promise<HostedModel> {
  const [first, ...others] = manifest.files;
  if (first === undefined) throw new AddFailed(`The model ${manifest.id} names no files.`);
  const head = await lookAt(urlOf(host, manifest, manifest.revision, first), first, signal);
  const { commit } = head;
  const revision = commit ?? manifest.revision;
  const files: HostedFile[] = [hosted(head, urlOf(host, manifest, revision, first))];
  for (let at = 0; at < others.length; at += atOnce) {
    const looks = others.slice(at, at + atOnce).map(async (file) => {
      const url = urlOf(host, manifest, revision, file);
      return hosted(await lookAt(url, file, signal), url);
    });
    files.push(...(await Promise.all(looks)));
  }
  return { commit, files };
}

interface Look {
  path: string;
  bytes: number;
  commit: string | null;
  digest: FileDigest | null;
}

function hosted({ path, bytes, digest }: Look, url: string): HostedFile {
  return { path, url, bytes, digest };
}

function urlOf(host: string, { repository }: ModelManifest, revision: string, { path }: ManifestFile): string {
  return `${host.replace(/\/+$/, '')}/${repository}/resolve/${revision}/${path}`;
}

/**
 * One HEAD, and those of the redirects within the host: where it hands over to a separate store, the headers of the
 * hand-over say what the file is.
 */
async function lookAt(url: string, file: ManifestFile, signal: AbortSignal): Promise<Look> {
  let at = new URL(url);
  for (let redirects = 0; redirects <= redirectsMax; redirects += 1) {
    const answer = await reach(at, { method: 'HEAD', redirect: 'manual', signal });
    const { headers } = answer;
    const location = headers.get('location');
    const size = headers.get('x-linked-size') ?? (answer.ok ? headers.get('content-length') : null);
    if (location !== null && answer.status >= 300 && answer.status < 400 && size === null) {
      at = new URL(location, at);
      continue;
    }
    if (answer.status >= 400) {
      const what = answer.status === 404 ? 'has no such file' : `answered ${answer.status}`;
      throw new AddFailed(`${at.host} ${what}: ${url}`);
    }
    const bytes = Number(size);
    if (size === null || !Number.isSafeInteger(bytes) || bytes <= 0)
      throw new AddFailed(`${at.host} does not say how large ${url} is.`);
    return { path: file.path, bytes, commit: hex(headers.get('x-repo-commit'), 40), digest: digestOf(file, headers) };
  }
  throw new AddFailed(`${url} redirects without end.`);
}

/** Ours takes precedence; else the host's: SHA-256 of large files, git's own hash of the others. */
function digestOf({ sha256 }: ManifestFile, headers: Headers): FileDigest | null {
  if (sha256 !== null) return { kind: 'sha256', hex: sha256, from: 'culvert' };
  const tag = (headers.get('x-linked-etag') ?? headers.get('etag') ?? '').replace(/^W\//, '').replaceAll('"', '');
  const large = hex(tag, 64);
  if (large !== null) return { kind: 'sha256', hex: large, from: 'host' };
  const small = hex(tag, 40);
  return small === null ? null : { kind: 'git-sha1', hex: small, from: 'host' };
}

function hex(text: string | null, length: number): string | null {
  return text !== null && text.length === length && /^[0-9a-f]+$/.test(text) ? text : null;
}

/** No answer at all is a sentence. */
export async function reach(url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error);
    const why = 'code' in cause ? String(cause.code) : cause.message;
    throw new AddFailed(
      `No answer from ${url.host} (${why}). Without internet, copy the model from another machine (--offline lists its files), or name a mirror in CULVERT_MODEL_HOST.`,
    );
  }
}
