import { FailureError, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, listIn } from '../../../kernel/json.ts';
import { asInReference } from './read-request.ts';

/** Content of a cache, for requests that name it. */
export interface CachedContent {
  contents: JsonValue[];
  systemInstruction?: JsonValue;
  tools?: JsonValue;
  toolConfig?: JsonValue;
}

/** Members that a request may not have if its cache keeps them, as at Google. */
const cachedMembers = ['systemInstruction', 'tools', 'toolConfig'] as const;

/** Kept parts of the body that makes a cache, spelt as in Google's reference. */
export function cachedContentOf(written: JsonObject): CachedContent {
  const body = asInReference(written);
  const cached: CachedContent = { contents: listIn(body.contents) };
  for (const name of cachedMembers) if (body[name] != null) cached[name] = body[name];
  return cached;
}

/** The cache that a body names, spelt either way; null: it names none. */
export function cacheNamedBy({ cachedContent, cached_content: inSnakeCase }: JsonObject): string | null {
  const name = cachedContent ?? inSnakeCase;
  return typeof name === 'string' ? name : null;
}

/** Body with its cache's contents before its contents. Throws a FailureError for members that the cache has already. */
export function withCachedContent(written: JsonObject, cached: CachedContent): JsonObject {
  const { cachedContent: _, ...body } = asInReference(written);
  for (const name of cachedMembers) {
    if (body[name] == null) continue;
    const message = `A request with 'cachedContent' cannot have '${name}', too. Give it to the cache when you create it.`;
    throw new FailureError(invalid(name, message));
  }
  const added = listIn(body.contents);
  return { ...body, ...cached, contents: [...cached.contents.filter(isObject), ...added] };
}
