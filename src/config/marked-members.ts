import { z } from 'zod';
import type { JsonSchema } from './json-schema.ts';

/** Names from a schema's root to a member; `*` is any name of a record, `[]` any item of a list. */
export type MemberPath = readonly string[];

/**
 * The schema's mark of a member. `address`: it decides where requests go, and credentials with them; a URL by its
 * scalar, others (a region, certificates to trust) by `mark`. `headers` and `body`: anything in them may be a secret.
 */
export type Mark = 'address' | 'secret' | 'headers' | 'body';

export interface MarkedMember {
  path: MemberPath;
  mark: Mark;
  schema: JsonSchema;
}

/** A member of a value, by its path with real names. */
export interface FoundMember {
  path: string;
  value: unknown;
}

/** Headers that decide where a request goes on to: `Host`, `Helicone-Target-URL`, `x-portkey-custom-host`. */
const routingHeader = /(^|[-_])(host|url|uri|target|endpoint|upstream|forwarded|authority)($|[-_])/i;

function markOf(schema: JsonSchema): Mark | null {
  if (schema.mark !== undefined) return schema.mark as Mark;
  if (schema.kind === 'url') return 'address';
  return schema.kind === 'secret' ? 'secret' : null;
}

/** Every marked member of a schema, and what is marked within it. */
export function markedMembers(schema: z.ZodType): MarkedMember[] {
  const found: MarkedMember[] = [];
  const look = (member: JsonSchema, path: MemberPath) => {
    const mark = markOf(member);
    if (mark !== null && path.length > 0) found.push({ path, mark, schema: member });
    for (const [name, child] of Object.entries(member.properties ?? {})) look(child, [...path, name]);
    if (typeof member.additionalProperties === 'object') look(member.additionalProperties, [...path, '*']);
    if (member.items !== undefined) look(member.items, [...path, '[]']);
    for (const branch of member.anyOf ?? []) look(branch, path);
  };
  look(z.toJSONSchema(schema, { io: 'input' }) as JsonSchema, []);
  return found;
}

/** Reads from definitions what their schema marks. */
export interface DefinitionMarks {
  /** Members that decide where requests go, headers by which proxies choose among them. */
  addresses(definition: unknown): FoundMember[];
  /** Members that are sent there and shown to nobody. A secret within an address (the key of `tls`) is not sent. */
  secrets(definition: unknown): FoundMember[];
  /** Outermost members that may hold a secret. */
  secretMembers: ReadonlySet<string>;
  /** Outermost members of this definition in which there is a body, where anything may be a secret. */
  membersWithBody(definition: unknown): ReadonlySet<string>;
}

export function definitionMarks(schema: z.ZodType): DefinitionMarks {
  const marked = markedMembers(schema);
  const addresses = marked.filter(({ mark }) => mark === 'address').map(({ path }) => path);
  const headers = marked.filter(({ mark }) => mark === 'headers').map(({ path }) => [...path, '*']);
  const isWithinAddress = (path: MemberPath) => addresses.some((address) => isWithin(path, address));
  const secrets = marked.filter(({ mark, path }) => mark === 'secret' && !isWithinAddress(path));
  const bodies = marked.filter(({ mark }) => mark === 'body').map(({ path }) => path);
  const holders = marked.filter(({ mark, schema: { has_user } }) => mark !== 'address' || has_user === true);
  return {
    addresses: (definition) => [
      ...addresses.flatMap((path) => foundAt(definition, path)),
      ...headers
        .flatMap((path) => foundAt(definition, path))
        .filter(({ path }) => routingHeader.test(path.slice(path.lastIndexOf('.') + 1))),
    ],
    secrets: (definition) =>
      [...headers, ...secrets.map(({ path }) => path)].flatMap((path) => foundAt(definition, path)),
    secretMembers: new Set(holders.flatMap(({ path }) => path.slice(0, 1))),
    membersWithBody: (definition) =>
      new Set(bodies.filter((path) => foundAt(definition, path).length > 0).flatMap((path) => path.slice(0, 1))),
  };
}

function isWithin(path: MemberPath, outer: MemberPath): boolean {
  return outer.length < path.length && outer.every((name, depth) => name === path[depth]);
}

/** Members of the definition at this path of its schema. What is not there is left out. */
function foundAt(value: unknown, path: MemberPath, at = ''): FoundMember[] {
  const [name, ...rest] = path;
  if (value === undefined || value === null) return [];
  if (name === undefined) return [{ path: at, value }];
  if (typeof value !== 'object') return [];
  if (name === '[]') {
    return Array.isArray(value) ? value.flatMap((item, index) => foundAt(item, rest, `${at}[${index}]`)) : [];
  }
  const names = name === '*' ? Object.keys(value) : [name];
  return names.flatMap((key) =>
    foundAt((value as Record<string, unknown>)[key], rest, at === '' ? key : `${at}.${key}`),
  );
}
