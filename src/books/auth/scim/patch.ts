import { FailureError, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue, objectIn, objectsIn } from '../../../kernel/json.ts';
import { membersIn } from './resource.ts';

interface PatchOperation {
  op: 'add' | 'replace' | 'remove';
  /** `members[value eq "x"]` is the attribute `members`, where `value` is `x`; null: the value has the attributes. */
  path: { attribute: string; where: { field: string; is: string } | null; part: string | null } | null;
  value: JsonValue;
}

const operationsMax = 1_000;
const pathForm = /^([A-Za-z][\w-]*)(?:\[([A-Za-z]\w*) eq "((?:[^"\\]|\\.){0,256})"\])?(?:\.([A-Za-z]\w*))?$/i;

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
  for (const operation of listed) apply(after, operationIn(operation));
  return after;
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
  if (short.startsWith('urn:')) return { attribute: short, where: null, part: null };
  const [, attribute, field, is, part] = pathForm.exec(short) ?? [];
  if (attribute === undefined) return refuse(`path: '${text.slice(0, 100)}' is not understood`);
  const where = field === undefined || is === undefined ? null : { field, is: is.replaceAll(/\\(.)/g, '$1') };
  return { attribute, where, part: part ?? null };
}

function apply(resource: JsonObject, { op, path, value }: PatchOperation): void {
  if (path === null) {
    if (!isObject(value)) return refuse('value: expected an object where there is no path');
    for (const [name, one] of Object.entries(value)) apply(resource, { op, path: pathIn(name), value: one ?? null });
    return;
  }
  const name = nameIn(resource, path.attribute);
  if (name === 'members') return applyMembers(resource, op, path.where, value);
  if (path.where !== null) return applyToOne(resource, name, op, path, value);
  if (path.part !== null) {
    const whole = objectIn(resource[name]);
    resource[name] = { ...whole, [path.part]: op === 'remove' ? null : value };
    return;
  }
  resource[name] = op === 'remove' ? null : value;
}

/** Names of attributes are the same in upper and lower case (RFC 7643 §2.1). */
function nameIn(resource: JsonObject, requested: string): string {
  const lower = requested.toLowerCase();
  return Object.keys(resource).find((name) => name.toLowerCase() === lower) ?? requested;
}

/** `emails[type eq "work"].value`. */
function applyToOne(
  resource: JsonObject,
  name: string,
  op: PatchOperation['op'],
  { where, part }: NonNullable<PatchOperation['path']>,
  value: JsonValue,
): void {
  if (where === null) return;
  const listed = objectsIn(resource[name]);
  const isIt = (one: JsonObject) => String(one[where.field] ?? '') === where.is;
  if (op === 'remove') {
    resource[name] = listed.filter((one) => !isIt(one));
    return;
  }
  const set = part === null ? objectIn(value) : { [part]: value };
  const hasIt = listed.some(isIt);
  const made = { [where.field]: where.is, ...set };
  resource[name] = hasIt ? listed.map((one) => (isIt(one) ? { ...one, ...set } : one)) : [...listed, made];
}

function applyMembers(
  resource: JsonObject,
  op: PatchOperation['op'],
  where: { field: string; is: string } | null,
  value: JsonValue,
): void {
  const before = membersIn(resource.members ?? []);
  // A removal without a value or a filter removes all of them.
  const named = where === null ? (value === null ? null : membersIn(value)) : [where.is];
  const next = {
    add: () => [...new Set([...before, ...(named ?? [])])],
    replace: () => named ?? [],
    remove: () => (named === null ? [] : before.filter((id) => !named.includes(id))),
  }[op]();
  resource.members = next.map((id) => ({ value: id }));
}

function refuse(message: string): never {
  throw new FailureError(invalid('Operations', message));
}
