import { type Failure, FailureError, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

/** Members of a user that a directory sends (RFC 7643 §4.1) and that are stored; the rest is ignored. */
export interface ScimUser {
  userName: string;
  externalId: string | null;
  displayName: string | null;
  name: JsonObject | null;
  emails: JsonObject[];
  /** False: it may nothing, until it is true again. */
  active: boolean;
  /** Whom it is to the OpenID provider, from the first login on; null: nobody has logged in yet. */
  bound: { issuer: string; subject: string } | null;
}

/** RFC 7643 §4.2. */
export interface ScimGroup {
  displayName: string;
  externalId: string | null;
  /** Ids of users. */
  members: string[];
}

const charsMax = 256;
const emailsMax = 20;
const attributeNames = ['userName', 'externalId', 'displayName', 'name', 'emails', 'active', 'members'];
const nameFields = ['formatted', 'familyName', 'givenName', 'middleName', 'honorificPrefix', 'honorificSuffix'];
/** Bound of the members of one group. */
export const membersMax = 10_000;

/** Name as it is stored: those of attributes are the same in upper and lower case (RFC 7643 §2.1). */
export function attributeName(given: string): string {
  const lower = given.toLowerCase();
  return attributeNames.find((name) => name.toLowerCase() === lower) ?? given;
}

function spelled(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [attributeName(name), value]));
}

/** Throws a FailureError for what cannot be a user. Attributes without a use here are left out. */
export function userIn(given: JsonObject, bound: ScimUser['bound']): ScimUser {
  const body = spelled(given);
  return {
    userName: textOf(body, 'userName') ?? refuse('userName', 'userName: expected a text'),
    externalId: textOf(body, 'externalId'),
    displayName: textOf(body, 'displayName'),
    name: nameOf(body.name ?? null),
    emails: emailsOf(body.emails ?? []),
    active: body.active === undefined ? true : truthOf(body.active),
    bound,
  };
}

export function groupIn(given: JsonObject): ScimGroup {
  const body = spelled(given);
  return {
    displayName: textOf(body, 'displayName') ?? refuse('displayName', 'displayName: expected a text'),
    externalId: textOf(body, 'externalId'),
    members: membersIn(body.members ?? []),
  };
}

/** Ids in `[{"value": id}]`. */
export function membersIn(value: JsonValue): string[] {
  const listed = Array.isArray(value) ? value : [value];
  if (listed.length > membersMax) refuse('members', `members: at most ${membersMax}`);
  const ids = listed.map((one) => (isObject(one) ? one.value : one));
  return [...new Set(ids.map((id) => (isText(id) ? id : refuse('members', 'members: expected {"value": id}'))))];
}

/** A boolean. Microsoft Entra ID sends it as a text. */
function truthOf(value: JsonValue): boolean {
  if (typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  return text === 'true' ? true : text === 'false' ? false : refuse('active', 'active: expected true or false');
}

function textOf(body: JsonObject, field: string): string | null {
  const value = body[field] ?? null;
  if (value === null || value === '') return null;
  return isText(value) ? value : refuse(field, `${field}: expected a text of at most ${charsMax} characters`);
}

function nameOf(value: JsonValue): JsonObject | null {
  if (!isObject(value)) return null;
  const parts = nameFields.filter((field) => isText(value[field] ?? null));
  return Object.fromEntries(parts.map((field) => [field, value[field] ?? null]));
}

function emailsOf(value: JsonValue): JsonObject[] {
  if (!Array.isArray(value) || value.length > emailsMax) {
    return refuse('emails', `emails: expected a list of at most ${emailsMax}`);
  }
  return value.filter(isObject).flatMap((email) => {
    const { value: address, type, primary } = email;
    if (!isText(address ?? null)) return [];
    return [{ value: address ?? null, ...(isText(type ?? null) && { type: type ?? null }), primary: primary === true }];
  });
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '' && value.length <= charsMax;
}

function refuse(field: string, message: string): never {
  throw new FailureError(invalid(field, message));
}

export function noResource(id: string): Failure {
  return { kind: 'not-found', message: `There is no resource '${id.slice(0, 64)}'.` };
}
