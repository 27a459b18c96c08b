import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { directMember } from '../../../kernel/known-entry.ts';
import type { FetchedMedia, MediaUrl } from '../../neutral/media-urls.ts';

/** Members of parts that engines read from an address, in any case of letters, with the kind of what is there. */
const kinds: ReadonlyMap<string, MediaUrl['kind']> = new Map([
  ['image_url', 'image'],
  ['input_audio', 'audio'],
  ['audio_url', 'audio'],
  ['video_url', 'video'],
  ['file', 'document'],
  ['document_url', 'document'],
]);

/** Members of those that hold content or its address. */
const contentMembers: ReadonlySet<string> = new Set(['url', 'data', 'file_data']);

/** An address in a body, and the object that has it. */
interface Place extends MediaUrl {
  holder: JsonObject;
  member: string;
}

/**
 * Media that a body in OpenAI's chat format names by address. An engine in the operator's network would fetch them with
 * its reach there, past the guard, so Culvert fetches them. `members`: where they may be, in other formats.
 */
export function remoteMediaIn(body: JsonObject, members: readonly string[] = ['messages']): MediaUrl[] {
  return placesIn(body, members).map(({ url, param, kind }) => ({ url, param, kind }));
}

/** The body with fetched content in place of its addresses; a 400 names one that was not fetched. */
export function withRemoteMedia(body: JsonObject, fetched: FetchedMedia): JsonObject | Failure {
  const copy = structuredClone(body);
  for (const { url, param, holder, member } of placesIn(copy)) {
    const media = directMember(fetched, url);
    if (media === undefined) return invalid(param, `'${param}' could not be fetched. Send its content inline instead.`);
    holder[member] = `data:${media.mediaType};base64,${media.base64}`;
  }
  return copy;
}

function placesIn(body: JsonObject, members: readonly string[] = ['messages']): Place[] {
  return members.flatMap((name) => placesBelow(body[name] ?? null, name));
}

function placesBelow(value: JsonValue, param: string): Place[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => placesBelow(item, `${param}[${at}]`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner = null]) => {
    const kind = kinds.get(name.toLowerCase());
    return kind === undefined ? placesBelow(inner, `${param}.${name}`) : placesOf(value, name, { param, kind });
  });
}

/** A member with media: text, or an object that has it. Engines read it whatever the part's `type` says. */
function placesOf(holder: JsonObject, name: string, about: Pick<MediaUrl, 'param' | 'kind'>): Place[] {
  const value = holder[name];
  if (!isObject(value)) return placeAt(holder, name, about);
  const members = Object.keys(value).filter((member) => contentMembers.has(member.toLowerCase()));
  return members.flatMap((member) => placeAt(value, member, about));
}

function placeAt(holder: JsonObject, member: string, about: Pick<MediaUrl, 'param' | 'kind'>): Place[] {
  const value = holder[member];
  const isAddress = typeof value === 'string' && (/url$/i.test(member) ? !isContent(value) : hasScheme.test(value));
  return isAddress ? [{ ...about, url: value, holder, member }] : [];
}

/** URL in a member that holds base64 alone: engines in Go fetch that too. */
const hasScheme = /^\s*(?!data:)[a-z][a-z0-9+.-]*:/i;

/** Whether it is a data URL, or base64 alone. Anything else may be an address or a path on the disk of an engine. */
function isContent(value: string): boolean {
  return value === '' || /^data:/i.test(value) || /^[A-Za-z0-9+/_-]{64,}={0,2}$/.test(value);
}
