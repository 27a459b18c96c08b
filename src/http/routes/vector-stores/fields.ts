import { checkedMetadata } from '../../../inference/families/responses/conversation-fields.ts';
import type { Chunking, FileAttributes, StoreFacts } from '../../../inference/vector-stores/store-facts.ts';
import type { ListPage } from '../../../inference/vector-stores/store-reads.ts';
import type { AttachedFile } from '../../../inference/vector-stores/vector-stores.ts';
import { FailureError, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { listed, placeIn } from '../list-page.ts';

/** Members of bodies about vector stores. Every reader throws a FailureError that names the field. */

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

/** Facts of a new store. */
export function storeFacts(body: JsonObject): StoreFacts {
  return {
    name: textOf(body.name, 'name', nameCharsMax) ?? '',
    description: textOf(body.description, 'description', descriptionCharsMax),
    metadata: body.metadata == null ? null : checkedMetadata(body.metadata),
    expiresAfterDays: daysOf(body.expires_after),
  };
}

/** Changed facts of a store: those that the body has. */
export function changedFacts(body: JsonObject): Partial<StoreFacts> {
  const { name, metadata, expiresAfterDays } = storeFacts(body);
  return {
    ...(body.name !== undefined && { name }),
    ...(body.metadata !== undefined && { metadata }),
    ...(body.expires_after !== undefined && { expiresAfterDays }),
  };
}

export function modelOf(body: JsonObject): string | null {
  return textOf(body.embedding_model, 'embedding_model', nameCharsMax);
}

/** `file_ids` of a new store. */
export function filesOfStore(body: JsonObject): AttachedFile[] {
  const chunking = chunkingOf(body.chunking_strategy, 'chunking_strategy');
  return idsOf(body.file_ids).map((file) => ({ file, attributes: null, chunking }));
}

/** A file with its own members; `at`: its path in the body, with a dot behind it. */
export function fileOf(body: JsonObject, at = ''): AttachedFile {
  const { file_id: file, attributes, chunking_strategy: strategy } = body;
  if (typeof file !== 'string' || file === '') throw wrong(`${at}file_id`, 'must be the id of a file');
  return {
    file,
    attributes: attributesOf(attributes, `${at}attributes`),
    chunking: chunkingOf(strategy, `${at}chunking_strategy`),
  };
}

/** The files of a batch: `file_ids` with what holds for all of them, or `files` with their own. */
export function filesOfBatch(body: JsonObject): AttachedFile[] {
  const { file_ids: ids, files } = body;
  if ((ids == null) === (files == null)) throw wrong('file_ids', "or 'files' must be there, and not both");
  if (files == null) {
    const attributes = attributesOf(body.attributes, 'attributes');
    const chunking = chunkingOf(body.chunking_strategy, 'chunking_strategy');
    return several(idsOf(ids).map((file) => ({ file, attributes, chunking })));
  }
  if (!Array.isArray(files) || files.length > filesMax)
    throw wrong('files', `must be a list of at most ${filesMax} objects`);
  return several(
    files.map((one, at) => {
      if (!isObject(one)) throw wrong(`files[${at}]`, 'must be an object');
      return fileOf(one, `files[${at}].`);
    }),
  );
}

/** Null: none, and those that were there are removed. */
export function attributesOf(value: JsonValue | undefined, at: string): FileAttributes | null {
  if (value == null) return null;
  const pairs = isObject(value) ? Object.entries(value) : null;
  const fits = pairs?.every(([name, one]) => {
    if (name === '' || name.length > attributeNameCharsMax || /["\\]/.test(name)) return false;
    return typeof one === 'string'
      ? one.length <= attributeCharsMax
      : typeof one === 'boolean' || (typeof one === 'number' && Number.isFinite(one));
  });
  if (pairs !== null && fits && pairs.length <= attributesMax) return value as FileAttributes;
  const names = `names of up to ${attributeNameCharsMax} characters without quotes and backslashes`;
  throw wrong(
    at,
    `must be an object of at most ${attributesMax} members with ${names}: texts of up to ${attributeCharsMax} characters, numbers or booleans`,
  );
}

/** The page that a list is asked for. `idPrefix`: of its ids. */
export function listPageOf(query: URLSearchParams, idPrefix: string): ListPage {
  const page = listed(query, { limitMax: 100, limit: 20, idPrefix });
  const before = placeIn(query, 'before', idPrefix);
  if (page.after !== null && before !== null) throw wrong('before', "and 'after' exclude each other");
  return { ...page, before };
}

function several(files: AttachedFile[]): AttachedFile[] {
  if (files.length === 0) throw wrong('file_ids', 'must name at least one file');
  const names = new Set(files.map(({ file }) => file));
  if (names.size < files.length) throw wrong('file_ids', 'names a file twice');
  return files;
}

function idsOf(ids: JsonValue | undefined): string[] {
  if (ids == null) return [];
  const fits = Array.isArray(ids) && ids.length <= filesMax && ids.every((id) => typeof id === 'string' && id !== '');
  if (!fits) throw wrong('file_ids', `must be a list of at most ${filesMax} ids of files`);
  return [...new Set(ids as string[])];
}

function chunkingOf(strategy: JsonValue | undefined, at: string): Chunking {
  if (strategy == null) return autoChunking;
  const { type, static: how } = isObject(strategy) ? strategy : {};
  if (type === 'auto') return autoChunking;
  if (type !== 'static' || !isObject(how)) {
    throw wrong(at, `must be {"type": "auto"} or {"type": "static", "static": {…}}`);
  }
  const { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap } = how;
  if (!isWhole(size, sizeTokensMin, sizeTokensMax)) {
    const range = `a whole number from ${sizeTokensMin} to ${sizeTokensMax}`;
    throw wrong(`${at}.static.max_chunk_size_tokens`, `must be ${range}`);
  }
  if (!isWhole(overlap, 0, Math.floor(size / 2))) {
    const range = 'a whole number from 0 to half of max_chunk_size_tokens';
    throw wrong(`${at}.static.chunk_overlap_tokens`, `must be ${range}`);
  }
  return { sizeTokens: size, overlapTokens: overlap };
}

function daysOf(expiry: JsonValue | undefined): number | null {
  if (expiry == null) return null;
  const { anchor, days } = isObject(expiry) ? expiry : {};
  if (anchor !== 'last_active_at') throw wrong('expires_after.anchor', 'must be last_active_at');
  if (isWhole(days, 1, daysMax)) return days;
  throw wrong('expires_after.days', `must be a whole number from 1 to ${daysMax}`);
}

function textOf(value: JsonValue | undefined, at: string, charsMax: number): string | null {
  if (value == null) return null;
  if (typeof value === 'string' && value.length <= charsMax) return value;
  throw wrong(at, `must be a text of at most ${charsMax} characters`);
}

export function isWhole(value: JsonValue | undefined, min: number, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

export function wrong(param: string, must: string): FailureError {
  return new FailureError(invalid(param, `'${param}' ${must}.`));
}
