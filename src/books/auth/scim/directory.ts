import { isDeepStrictEqual } from 'node:util';
import type { GroupRoles } from '../../../config/schema/schema-dashboard.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { type Failure, FailureError, refuse } from '../../../kernel/failure.ts';
import { randomBase62 } from '../../../kernel/ids.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { AccountStore, Change, OperatorRow, ScimRow, Stored } from '../account-store.ts';
import type { Identity } from '../identity.ts';
import { freeName, rightsOf, shownName } from '../operator-at-login.ts';
import { groupIn, noResource, type ScimGroup, type ScimUser, userIn } from './resource.ts';

export interface ScimParts {
  store: AccountStore;
  clock: Clock;
  /** When it resolves, the ring of this process knows what was written. */
  refresh(): Promise<unknown>;
}

/** Kept for a directory; beyond them it may add no more. */
const rowsMax = { user: 10_000, group: 1_000 };
/** Attempts at a change that others come before. */
const triesMax = 10;
const idLength = 12;
/** Operators that one audit row names. */
const auditedMax = 100;

/** A kind of resource, and how a body becomes one. Null: it is not there. */
export type Edit = (before: JsonObject | null) => JsonObject | null;

/** Rows of a store as of one of its versions. */
const known = new WeakMap<AccountStore, { version: number; rows: readonly ScimRow[] }>();

/**
 * Users and groups that a directory provisioned, in the order in which they came. A directory looks for each of its users:
 * they are read again only where the store has changed.
 */
export async function provisioned({ store }: Pick<ScimParts, 'store'>): Promise<readonly ScimRow[]> {
  const version = await store.version();
  const found = known.get(store);
  if (found?.version === version) return found.rows;
  const rows = await store.scim();
  known.set(store, { version, rows });
  return rows;
}

/**
 * Writes a resource, and the operators that follow from it, in one transaction: a user who is not active, or whose groups
 * no line of `roles` names, is no operator, and has no session. `id` null: a new one. Null when it was removed.
 */
export async function changeResource(
  parts: ScimParts,
  roles: GroupRoles,
  { kind, id, edit }: { kind: ScimRow['kind']; id: string | null; edit: Edit },
): Promise<ScimRow | null> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const version = await parts.store.version();
    const [rows, stored] = await Promise.all([provisioned(parts), parts.store.load()]);
    const before = rows.find((row) => row.kind === kind && row.id === id) ?? null;
    if (id !== null && before === null) throw new FailureError(noResource(id));
    const given = edit(before?.data ?? null);
    const after = given === null ? null : rowOf(kind, before, given, parts.clock.wallMs());
    if (after !== null) checkRoom(after, rows);
    const left = kind === 'user' && after === null ? groupsWithout(id, rows, parts.clock.wallMs()) : [];
    const changed = new Set([id, ...left.map((group) => group.id)]);
    const next = [...rows.filter((row) => !changed.has(row.id)), ...left, ...(after === null ? [] : [after])];
    const affected = affectedBy(before, after);
    const people = [
      ...operatorChanges(affected, next, stored, roles, parts.clock.wallMs()),
      ...earlierLogins(before, after, stored),
    ];
    const groups = left.map((row): Change => ({ kind: 'replace-scim', row }));
    const changes: Change[] = [{ kind: 'only-at', version }, ...rowChange(before, after), ...groups, ...people];
    const subject = (after ?? before)?.id ?? '';
    const verb = before === null ? 'create' : after === null ? 'delete' : 'update';
    const done = await parts.store.apply(changes, {
      atMs: parts.clock.wallMs(),
      actor: 'scim',
      action: `scim-${kind}.${verb}`,
      subject,
      before: before === null ? null : factsOf(before),
      after: after === null ? null : { ...factsOf(after), operators: people.slice(0, auditedMax).map(auditedOf) },
    });
    if (done === 'done') {
      // It is written: a look that fails is repeated within a second.
      await parts.refresh().catch(() => undefined);
      return after;
    }
  }
  return refuse(crowded);
}

const crowded: Failure = {
  kind: 'overloaded',
  message: 'Others change accounts and operators at this moment. Try again.',
};

/** Brings the operators of all provisioned users in line with other `roles`, as a change of each user would. */
export async function alignOperators(parts: ScimParts, roles: GroupRoles): Promise<void> {
  const { store, clock } = parts;
  for (let tries = 0; tries < triesMax; tries += 1) {
    const version = await store.version();
    const [rows, stored] = await Promise.all([provisioned(parts), store.load()]);
    const users = rows.filter(({ kind }) => kind === 'user').map(({ id }) => id);
    const people = operatorChanges(users, rows, stored, roles, clock.wallMs());
    if (people.length === 0) return;
    const done = await store.apply([{ kind: 'only-at', version }, ...people], {
      atMs: clock.wallMs(),
      actor: 'scim',
      action: 'scim-roles.update',
      subject: 'dashboard.scim.roles',
      before: null,
      after: { operators: people.slice(0, auditedMax).map(auditedOf) },
    });
    if (done !== 'done') continue;
    await parts.refresh().catch(() => undefined);
    return;
  }
  return refuse(crowded);
}

/**
 * The operator of an identity that a directory provisioned: by the login it was bound to, or else by its user name, at
 * the first login. Null: it may nothing now. `unknown`: the directory has not provisioned it.
 */
export async function provisionedOperator(
  { issuer, subject, username, email }: Identity,
  roles: GroupRoles,
  parts: ScimParts,
): Promise<OperatorRow | null | 'unknown'> {
  const rows = (await provisioned(parts)).filter(({ kind }) => kind === 'user');
  const names = [username, email].flatMap((name) => (name === null ? [] : [name.toLowerCase()]));
  const bound = rows.find(({ data }) => isDeepStrictEqual(userOf(data).bound, { issuer, subject }));
  const found = bound ?? rows.find(({ name, data }) => names.includes(name) && userOf(data).bound === null);
  if (found === undefined) return rows.some(({ name }) => names.includes(name)) ? null : 'unknown';
  // Rights as the groups and the configuration have them now.
  await changeResource(parts, roles, {
    kind: 'user',
    id: found.id,
    edit: (data) => data && { ...data, bound: { issuer, subject } },
  });
  const { operators } = await parts.store.load();
  return operators.find(({ id }) => id === operatorId(found.id)) ?? null;
}

function rowOf(kind: ScimRow['kind'], before: ScimRow | null, given: JsonObject, nowMs: number): ScimRow {
  const data = kind === 'user' ? userIn(given, userOf(given).bound ?? null) : groupIn(given);
  const name = 'userName' in data ? data.userName : data.displayName;
  return {
    id: before?.id ?? `${kind === 'user' ? 'usr' : 'grp'}_${randomBase62(idLength)}`,
    kind,
    name: name.toLowerCase(),
    data: { ...data } as JsonObject,
    createdMs: before?.createdMs ?? nowMs,
    updatedMs: nowMs,
  };
}

function checkRoom(row: ScimRow, rows: readonly ScimRow[]): void {
  const others = rows.filter(({ kind, id }) => kind === row.kind && id !== row.id);
  if (others.some(({ name }) => name === row.name)) {
    throw new FailureError({ kind: 'conflict', message: `There is a ${row.kind} '${row.name}' already.` });
  }
  if (others.length >= rowsMax[row.kind]) {
    throw new FailureError({
      kind: 'conflict',
      message: `There are ${others.length} ${row.kind}s, which is the maximum.`,
    });
  }
}

function rowChange(before: ScimRow | null, after: ScimRow | null): Change[] {
  if (after !== null) return [{ kind: before === null ? 'create-scim' : 'replace-scim', row: after }];
  return before === null ? [] : [{ kind: 'delete-scim', id: before.id }];
}

/** Groups that a removed user was in, without the user: a directory that reads them finds no member that is gone. */
function groupsWithout(userId: string | null, rows: readonly ScimRow[], nowMs: number): ScimRow[] {
  return rows.flatMap((row) => {
    if (row.kind !== 'group' || userId === null) return [];
    const { members, ...group } = groupOf(row.data);
    if (!members.includes(userId)) return [];
    const data = { ...group, members: members.filter((member) => member !== userId) };
    return [{ ...row, data, updatedMs: nowMs }];
  });
}

/** Ids of users whose rights may be others now. */
function affectedBy(before: ScimRow | null, after: ScimRow | null): string[] {
  const row = after ?? before;
  if (row?.kind === 'user') return [row.id];
  const members = [before, after].flatMap((one) => (one === null ? [] : groupOf(one.data).members));
  return [...new Set(members.filter((id) => id.startsWith('usr_')))];
}

/** Changes that bring the operators of users in line with them; none where they are so already. */
function operatorChanges(
  userIds: readonly string[],
  rows: readonly ScimRow[],
  { operators }: Stored,
  roles: GroupRoles,
  nowMs: number,
): Change[] {
  const users = new Map(rows.map((row) => [row.id, row]));
  const known = new Map(operators.map((one) => [one.id, one]));
  const idsByName = new Map(operators.map(({ name, id }) => [name, id]));
  const groupsOf = new Map(userIds.map((id): [string, string[]] => [id, []]));
  for (const { kind, data } of rows) {
    if (kind !== 'group') continue;
    const { members, displayName } = groupOf(data);
    for (const member of members) groupsOf.get(member)?.push(displayName);
  }
  return userIds.flatMap((userId): Change[] => {
    const id = operatorId(userId);
    const row = users.get(userId);
    const user = row?.kind === 'user' ? userOf(row.data) : null;
    const before = known.get(id);
    // A member may have the id of an operator that the directory did not provision, and may not change.
    if (before !== undefined && before.origin !== 'scim') return [];
    // Whom its groups at the provider made before, it is no longer.
    const bound = user?.bound ?? null;
    const earlier = operators.filter(
      ({ origin, issuer, subject }) => origin === null && bound?.issuer === issuer && bound.subject === subject,
    );
    const changes = earlier.map((one): Change => ({ kind: 'delete-operator', id: one.id }));
    for (const one of earlier) idsByName.delete(one.name);
    const rights = user?.active ? rightsOf(groupsOf.get(userId) ?? [], roles) : null;
    if (rights === null || user === null) {
      return before === undefined ? changes : [...changes, { kind: 'delete-operator', id }];
    }
    const identity = { issuer: 'scim', subject: userId, name: user.userName };
    const set = { name: freeName(identity, (name) => (idsByName.get(name) ?? id) !== id), ...rights };
    idsByName.set(set.name, id);
    if (before === undefined) {
      const none = { prefix: null, hash: null, issuer: null, subject: null };
      return [
        ...changes,
        { kind: 'create-operator', operator: { id, ...set, ...none, origin: 'scim', createdMs: nowMs } },
      ];
    }
    const { name, role, accounts } = before;
    return isDeepStrictEqual({ name, role, accounts }, set)
      ? changes
      : [...changes, { kind: 'update-operator', id, set }];
  });
}

/**
 * Removes who logged in before the directory came, under the name of a user who is deactivated or removed before a first
 * login under it: nothing but the name says who that was.
 */
function earlierLogins(before: ScimRow | null, after: ScimRow | null, { operators }: Stored): Change[] {
  const row = after ?? before;
  if (row?.kind !== 'user') return [];
  const { active, bound, userName, emails } = userOf(row.data);
  if (bound !== null || (after !== null && active)) return [];
  const names = [userName, ...emails.flatMap(({ value }) => (typeof value === 'string' ? [value] : []))].map((name) =>
    shownName(name).toLowerCase(),
  );
  return operators.flatMap(({ id, name, issuer, origin }): Change[] =>
    issuer !== null && origin === null && names.includes(name.toLowerCase()) ? [{ kind: 'delete-operator', id }] : [],
  );
}

function operatorId(userId: string): string {
  return `op_${userId.slice('usr_'.length)}`;
}

function factsOf({ kind, data }: ScimRow): JsonObject {
  if (kind === 'group') return { displayName: groupOf(data).displayName, members: groupOf(data).members.length };
  const { userName, externalId, active } = userOf(data);
  return { userName, externalId, active };
}

function auditedOf(change: Change): JsonObject {
  if (change.kind === 'create-operator') {
    const { id, role, accounts } = change.operator;
    return { id, role, accounts: accounts === null ? null : [...accounts] };
  }
  if (change.kind !== 'update-operator') return { id: 'id' in change ? change.id : '', role: null };
  const { role = null, accounts = null } = change.set;
  return { id: change.id, role, accounts: accounts === null ? null : [...accounts] };
}

/** Rows hold what `userIn` and `groupIn` made. */
export function userOf(data: JsonObject): ScimUser {
  return { bound: null, ...data } as JsonObject & ScimUser;
}

export function groupOf(data: JsonObject): ScimGroup {
  return data as JsonObject & ScimGroup;
}
