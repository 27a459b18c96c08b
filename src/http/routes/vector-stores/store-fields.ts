import { checkedMetadata } from '../../../inference/families/responses/conversation-fields.ts';
import type { Chunking, FileAttributes, StoreFacts } from '../../../inference/vector-stores/store-facts.ts';
import type { ListPage } from '../../../inference/vector-stores/store-reads.ts';
import type { AttachedFile } from '../../../inference/vector-stores/vector-stores.ts';
import { allRead, type Failure, invalidField, isFailure } from '../../../kernel/failure.ts';
import { isObject, isWhole, type JsonObject, type JsonValue, objectIn } from '../../../kernel/json.ts';
import { listed, placeIn } from '../list-page.ts';

/** Members of bodies about vector stores. A failure names the field. */

const nameCharsMax = 256;
const descriptionCharsMax = 512;
const daysMax = 365;
/** Files that one call may name. */
const filesMax = 500;
const attributesMax = 16;
const attributeNameCharsMax = 64;
const attributeCharsMax = 512;
const sizeTokensMin = 100;
const sizeTokensMax = 4_096;
const autoChunking: Chunking = { sizeTokens: 800, overlapTokens: 400 };

export interface NewStore {
  facts: StoreFacts;
  /** Alias of its embedding model; null: the caller names none. */
  model: string | null;
  files: AttachedFile[];
}

export function newStoreOf(body: JsonObject): NewStore | Failure {
  return allRead<NewStore>({
    facts: storeFacts(body),
    model: textOf(body.embedding_model, 'embedding_model', nameCharsMax),
    files: filesOfStore(body),
  });
}

function storeFacts(body: JsonObject): StoreFacts | Failure {
  const read = allRead<Omit<StoreFacts, 'metadata'> & { checked: Pick<StoreFacts, 'metadata'> }>({
    name: textOf(body.name, 'name', nameCharsMax) ?? '',
    description: textOf(body.description, 'description', descriptionCharsMax),
    checked: body.metadata == null ? { metadata: null } : checkedMetadata(body.metadata),
    expiresAfterDays: daysOf(body.expires_after),
  });
  if (isFailure(read)) return read;
  const { checked, ...facts } = read;
  return { ...facts, ...checked };
}

/** Changed facts of a store: those that the body has. */
export function changedFacts(body: JsonObject): Partial<StoreFacts> | Failure {
  const facts = storeFacts(body);
  if (isFailure(facts)) return facts;
  const { name, metadata, expiresAfterDays } = facts;
  return {
    ...(body.name !== undefined && { name }),
    ...(body.metadata !== undefined && { metadata }),
    ...(body.expires_after !== undefined && { expiresAfterDays }),
  };
}

/** `file_ids` of a new store. */
function filesOfStore(body: JsonObject): AttachedFile[] | Failure {
  const chunking = chunkingOf(body.chunking_strategy, 'chunking_strategy');
  if (isFailure(chunking)) return chunking;
  const ids = idsOf(body.file_ids);
  return isFailure(ids) ? ids : ids.map((file) => ({ file, attributes: null, chunking }));
}

/** A file with its own members; `at`: its path in the body, with a dot behind it. */
export function fileOf(body: JsonObject, at = ''): AttachedFile | Failure {
  const { file_id: file } = body;
  if (typeof file !== 'string' || file === '') return invalidField(`${at}file_id`, 'must be the id of a file');
  const settings = settingsOf(body, at);
  return isFailure(settings) ? settings : { file, ...settings };
}

/** Members of a file other than its id, or of all files of a batch. */
function settingsOf(body: JsonObject, at: string): Omit<AttachedFile, 'file'> | Failure {
  const read = allRead<{ marked: Pick<AttachedFile, 'attributes'>; chunking: Chunking }>({
    marked: attributesOf(body.attributes, `${at}attributes`),
    chunking: chunkingOf(body.chunking_strategy, `${at}chunking_strategy`),
  });
  return isFailure(read) ? read : { ...read.marked, chunking: read.chunking };
}

/** The files of a batch: `file_ids` with what holds for all of them, or `files` with their own. */
export function filesOfBatch(body: JsonObject): AttachedFile[] | Failure {
  const { file_ids: ids, files } = body;
  if ((ids == null) === (files == null)) return invalidField('file_ids', "or 'files' must be there, and not both");
  if (files == null) {
    const settings = settingsOf(body, '');
    if (isFailure(settings)) return settings;
    const named = idsOf(ids);
    return isFailure(named) ? named : several(named.map((file) => ({ file, ...settings })));
  }
  if (!Array.isArray(files) || files.length > filesMax)
    return invalidField('files', `must be a list of at most ${filesMax} objects`);
  const read: AttachedFile[] = [];
  for (const [at, one] of files.entries()) {
    const file = isObject(one) ? fileOf(one, `files[${at}].`) : invalidField(`files[${at}]`, 'must be an object');
    if (isFailure(file)) return file;
    read.push(file);
  }
  return several(read);
}

/** Attributes of a file. Null: none, and those that were there are removed. */
export function attributesOf(
  value: JsonValue | undefined,
  at: string,
): { attributes: FileAttributes | null } | Failure {
  if (value == null) return { attributes: null };
  const pairs = isObject(value) ? Object.entries(value) : null;
  const fits = pairs?.every(([name, one]) => {
    if (name === '' || name.length > attributeNameCharsMax || /["\\]/.test(name)) return false;
    return typeof one === 'string'
      ? one.length <= attributeCharsMax
      : typeof one === 'boolean' || (typeof one === 'number' && Number.isFinite(one));
  });
  if (pairs !== null && fits && pairs.length <= attributesMax) return { attributes: value as FileAttributes };
  const names = `names of up to ${attributeNameCharsMax} characters without quotes and backslashes`;
  return invalidField(
    at,
    `must be an object of at most ${attributesMax} members with ${names}: texts of up to ${attributeCharsMax} characters, numbers or booleans`,
  );
}

/** The page that a list is asked for. `idPrefix`: of its ids. */
export function listPageOf(query: URLSearchParams, idPrefix: string): ListPage | Failure {
  const page = listed(query, { limitMax: 100, limit: 20, idPrefix });
  if (isFailure(page)) return page;
  const before = placeIn(query, 'before', idPrefix);
  if (isFailure(before)) return before;
  if (page.after !== null && before !== null) return invalidField('before', "and 'after' exclude each other");
  return { ...page, before };
}

function several(files: AttachedFile[]): AttachedFile[] | Failure {
  if (files.length === 0) return invalidField('file_ids', 'must name at least one file');
  const names = new Set(files.map(({ file }) => file));
  if (names.size < files.length) return invalidField('file_ids', 'names a file twice');
  return files;
}

function idsOf(ids: JsonValue | undefined): string[] | Failure {
  if (ids == null) return [];
  const fits = Array.isArray(ids) && ids.length <= filesMax && ids.every((id) => typeof id === 'string' && id !== '');
  if (!fits) return invalidField('file_ids', `must be a list of at most ${filesMax} ids of files`);
  return [...new Set(ids as string[])];
}

function chunkingOf(strategy: JsonValue | undefined, at: string): Chunking | Failure {
  if (strategy == null) return autoChunking;
  const { type, static: how } = objectIn(strategy);
  if (type === 'auto') return autoChunking;
  if (type !== 'static' || !isObject(how)) {
    return invalidField(at, `must be {"type": "auto"} or {"type": "static", "static": {…}}`);
  }
  const { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap } = how;
  if (!isWhole(size, sizeTokensMin, sizeTokensMax)) {
    const range = `a whole number from ${sizeTokensMin} to ${sizeTokensMax}`;
    return invalidField(`${at}.static.max_chunk_size_tokens`, `must be ${range}`);
  }
  if (!isWhole(overlap, 0, Math.floor(size / 2))) {
    const range = 'a whole number from 0 to half of max_chunk_size_tokens';
    return invalidField(`${at}.static.chunk_overlap_tokens`, `must be ${range}`);
  }
  return { sizeTokens: size, overlapTokens: overlap };
}

function daysOf(expiry: JsonValue | undefined): number | Failure | null {
  if (expiry == null) return null;
  const { anchor, days } = objectIn(expiry);
  if (anchor !== 'last_active_at') return invalidField('expires_after.anchor', 'must be last_active_at');
  if (isWhole(days, 1, daysMax)) return days;
  return invalidField('expires_after.days', `must be a whole number from 1 to ${daysMax}`);
}

function textOf(value: JsonValue | undefined, at: string, charsMax: number): string | Failure | null {
  if (value == null) return null;
  if (typeof value === 'string' && value.length <= charsMax) return value;
  return invalidField(at, `must be a text of at most ${charsMax} characters`);
}
