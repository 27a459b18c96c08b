import { type JsonObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import type { Notes, Path } from './notes.ts';
import type { Values } from './plain-values.ts';

/** Fields of an object of another program, by their names there. */
export interface FieldTable {
  readonly [name: string]: Field;
}

/**
 * The member of ours that a field becomes, and what reads it; or why it is not carried over, and what does its work; or a
 * table of what the field holds.
 */
export type Field = readonly [member: string, read: Reader] | string | FieldTable;

/** Gives the value of ours; null, often with a note, where there is none. */
export type Reader = (value: JsonValue, path: Path, values: Values) => JsonValue;

/** The members that the fields of `object` become by the table; those that are not carried over are noted. */
export function readFields(object: JsonObject, table: FieldTable, path: Path, values: Values): JsonObject {
  noteLeftOut(object, table, path, values.notes);
  const members: JsonObject = {};
  for (const [name, field] of Object.entries(table)) {
    if (!isRead(field) || object[name] === undefined || object[name] === null) continue;
    const [member, read] = field;
    const value = read(object[name], [...path, name], values);
    if (value !== null) members[member] = value;
  }
  return members;
}

/** Notes fields that neither the table nor `others` knows, such as those of a newer version. */
export function noteUnknown(object: JsonObject, table: FieldTable, others: RegExp, path: Path, notes: Notes): void {
  for (const [name, value] of Object.entries(object)) {
    if (Object.hasOwn(table, name) || others.test(name) || isEmpty(value)) continue;
    notes.add([...path, name], 'not carried over: Culvert does not know this field');
  }
}

/** Notes the fields of `object` that have no place here. Empty ones say nothing. */
export function noteLeftOut(object: JsonObject, table: FieldTable, path: Path, notes: Notes): void {
  for (const [name, field] of Object.entries(table)) {
    if (isRead(field) || isEmpty(object[name])) continue;
    if (typeof field === 'string') notes.add([...path, name], `not carried over: ${field}`);
    else noteLeftOut(objectIn(object[name]), field, [...path, name], notes);
  }
}

function isRead(field: Field): field is readonly [member: string, read: Reader] {
  return Array.isArray(field);
}

/** An object without what is empty in it: null, false, `{}` and `[]`, as Prisma fills columns that say nothing. */
export function filled(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isEmpty(value)));
}

export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
