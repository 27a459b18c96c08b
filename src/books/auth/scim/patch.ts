import { FailureError, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, objectIn, objectsIn } from '../../../kernel/json.ts';
import { type Filter, filterOf } from './filter.ts';
import { attributeName, membersIn } from './resource.ts';

interface PatchOperation {
  op: 'add' | 'replace' | 'remove';
  /** `emails[type eq "work"].value` is the attribute `emails`, where a filter holds; null: the value has the attributes. */
  path: { attribute: string; where: string | null; part: string | null } | null;
  value: JsonValue;
}

const operationsMax = 1_000;
const pathForm = /^([A-Za-z][\w-]*)(?:\[(.{1,512})\])?(?:\.([A-Za-z]\w*))?$/i;
const equality = /(\w+) eq (true|false|"(?:[^"\\]|\\.)*")/gi;
const namedMembers = /^value eq "[^"\\]*"(?: or value eq "[^"\\]*")*$/i;

/**
 * A resource after the operations of RFC 7644 §3.5.2, as Microsoft Entra ID and Okta send them. Attributes that are not
 * known stay in it; what reads it leaves them out. Throws a FailureError for what is no operation.
 */
export function patched(before: JsonObject, body: JsonObject): JsonObject {
  const { Operations: listed } = body;
  if (!Array.isArray(listed) || listed.length > operationsMax) {
    return refuse(`Operations: expected a list of at most ${operationsMax} operations`);
  }
  const after = structuredClone(before);
  // Read and written once: a thousand operations at a group of thousands would hold up the loop.
  const members = new Set(membersIn(after.members ?? []));
  for (const operation of listed) apply(after, members, operationIn(operation));
  return { ...after, members: [...members] };
}

function operationIn(given: JsonValue): PatchOperation {
  if (!isObject(given)) return refuse('Operations: expected {"op", "path", "value"}');
  // Entra writes `Add` and `Replace`.
  const op = typeof given.op === 'string' ? given.op.toLowerCase() : '';
  if (op !== 'add' && op !== 'replace' && op !== 'remove') return refuse('op: expected add, replace or remove');
  const { path = null, value = null } = given;
  if (path !== null && typeof path !== 'string') return refuse('path: expected a text');
  if (path === null && op === 'remove') return refuse('path: a removal needs one');
  return { op, path: path === null ? null : pathIn(path), value };
}

function pathIn(text: string): PatchOperation['path'] {
  const short = text.slice(0, 600).replace(/^urn:ietf:params:scim:schemas:core:2\.0:\w+:/i, '');
  // Attributes of extensions are not kept.
  if (/^urn:/i.test(short)) return { attribute: short, where: null, part: null };
  const [, attribute, where, part] = pathForm.exec(short) ?? [];
  if (attribute === undefined) return refuse(`path: '${text.slice(0, 100)}' is not understood`);
  return { attribute, where: where ?? null, part: part ?? null };
}

function apply(resource: JsonObject, members: Set<string>, { op, path, value }: PatchOperation): void {
  if (path === null) {
    if (!isObject(value)) return refuse('value: expected an object where there is no path');
    for (const [name, one] of Object.entries(value)) {
      apply(resource, members, { op, path: pathIn(name), value: one ?? null });
    }
    return;
  }
  const { where, part } = path;
  const name = attributeName(path.attribute);
  const before = resource[name] ?? null;
  if (name === 'members') applyMembers(members, op, where, value);
  else if (where !== null)
    resource[name] = elementsAfter(objectsIn(before), op, where, part === null ? value : { [part]: value });
  else if (part !== null) resource[name] = { ...objectIn(before), [part]: op === 'remove' ? null : value };
  else if (op === 'add' && Array.isArray(before)) resource[name] = withAdded(objectsIn(before), value);
  // Sub-attributes that a complex value does not name stay.
  else if (op !== 'remove' && isObject(before) && isObject(value)) resource[name] = { ...before, ...value };
  else resource[name] = op === 'remove' ? null : value;
}

function withAdded(before: readonly JsonObject[], value: JsonValue): JsonValue {
  const added = Array.isArray(value) ? value.filter(isObject) : [objectIn(value)];
  const isAgain = (one: JsonObject) => added.some((other) => other.value === one.value && other.type === one.type);
  return [...before.filter((one) => !isAgain(one)), ...added];
}

/** `emails[type eq "work"].value`: where no element fits, one is made that does. */
function elementsAfter(before: JsonObject[], op: PatchOperation['op'], where: string, value: JsonValue): JsonObject[] {
  const isIt: Filter = filterOf(where);
  if (op === 'remove') return before.filter((one) => !isIt(one));
  const set = objectIn(value);
  if (before.some(isIt)) return before.map((one) => (isIt(one) ? { ...one, ...set } : one));
  const equal = [...where.matchAll(equality)].map(([, field = '', is = '']): [string, JsonValue] => [
    field.toLowerCase(),
    is.startsWith('"') ? is.slice(1, -1).replaceAll(/\\(.)/g, '$1') : is.toLowerCase() === 'true',
  ]);
  const made = Object.fromEntries(equal);
  return isIt(made) ? [...before, { ...made, ...set }] : refuse(`path: no element fits [${where.slice(0, 100)}]`);
}

function applyMembers(members: Set<string>, op: PatchOperation['op'], where: string | null, value: JsonValue): void {
  if (where !== null && !namedMembers.test(where)) refuse('path: expected members[value eq "id"]');
  const ids = where === null ? null : [...where.matchAll(equality)].map(([, , id = '']) => id.slice(1, -1));
  // A removal without a value or a filter removes all of them.
  const named = ids ?? (value === null ? null : membersIn(value));
  if (op === 'replace' || (op === 'remove' && named === null)) members.clear();
  for (const id of named ?? []) {
    if (op === 'remove') members.delete(id);
    else members.add(id);
  }
}

function refuse(message: string): never {
  throw new FailureError(invalid('Operations', message));
}
