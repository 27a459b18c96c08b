import { json } from 'node:stream/consumers';
import type { StorageHold } from '../../books/metering/storage/storage-hold.ts';
import { type CachedContent, cachedContentOf } from '../../formats/dialects/gemini/cached-content.ts';
import { FailureError } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { StoredFile, StoredFiles } from './stored-files.ts';

/** Beginnings of requests that tenants keep under a name, in Gemini's format. They are files with a special purpose. */
export type CachedContents = ReturnType<typeof createCachedContents>;

export interface NewCachedContent {
  model: string;
  displayName: string | null;
  tokens: number;
  lifetimeMs: number;
  body: JsonObject;
}

/** A cache as its owner sees it. */
export interface CachedContentFacts extends Omit<NewCachedContent, 'lifetimeMs' | 'body'> {
  /** Behind `cachedContents/`. */
  name: string;
  createdMs: number;
  updatedMs: number;
  expiresMs: number;
}

const purpose = 'cached_content';
const prefix = 'file-';

/** `nowMs`: the clock's wall time. */
export function createCachedContents(files: StoredFiles, nowMs: () => number) {
  async function fileOf(tenant: string, name: string): Promise<StoredFile | null> {
    const file = await files.find(tenant, `${prefix}${name}`);
    return file?.purpose === purpose ? file : null;
  }
  return {
    async create(
      tenant: string,
      { lifetimeMs, body, ...facts }: NewCachedContent,
      hold: StorageHold,
    ): Promise<CachedContentFacts> {
      const content = Buffer.from(JSON.stringify(cachedContentOf(body)));
      const name = JSON.stringify({ ...facts, updatedMs: nowMs() });
      return factsOf(await files.create(tenant, { purpose, name, lifetimeMs, hold }, heldWhole(content, hold)));
    },
    async find(tenant: string, name: string): Promise<CachedContentFacts | null> {
      const file = await fileOf(tenant, name);
      return file === null ? null : factsOf(file);
    },
    /** Newest first, from behind `after` on. */
    async list(tenant: string, after: string | null, limit: number): Promise<CachedContentFacts[]> {
      const behind = after === null ? null : `${prefix}${after}`;
      return (await files.list({ tenant, order: 'desc', after: behind, limit, purposes: [purpose] })).map(factsOf);
    },
    /** Null when it is gone. */
    async keepUntil(tenant: string, name: string, expiresMs: number): Promise<CachedContentFacts | null> {
      const file = await fileOf(tenant, name);
      if (file === null) return null;
      const facts = JSON.stringify({ ...JSON.parse(file.name), updatedMs: nowMs() });
      return factsOf(await files.renew(file, facts, expiresMs));
    },
    remove: async (tenant: string, name: string): Promise<boolean> =>
      (await fileOf(tenant, name)) !== null && files.remove(tenant, `${prefix}${name}`),
    /** Null when it is gone. Rejects with an UnreadableFile as files do. */
    async read(tenant: string, name: string): Promise<CachedContent | null> {
      const file = await fileOf(tenant, name);
      return file === null ? null : ((await json(files.read(file))) as CachedContent);
    },
  };
}

async function* heldWhole(content: Buffer, hold: StorageHold): AsyncGenerator<Buffer> {
  const full = hold.grow(content.length);
  if (full !== null) throw new FailureError(full);
  yield content;
}

function factsOf({ id, name, createdMs, expiresMs }: StoredFile): CachedContentFacts {
  const facts = JSON.parse(name) as Pick<CachedContentFacts, 'model' | 'displayName' | 'tokens' | 'updatedMs'>;
  return { ...facts, name: id.slice(prefix.length), createdMs, expiresMs };
}
