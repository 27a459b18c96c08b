import type { Failure } from '../../kernel/failure.ts';
import type { AccountStore, KeyRow, KeySecret, KeySettings, Stored } from './account-store.ts';
import { type MintedKey, mintSecret } from './api-key.ts';
import { nameProblem, nameTaken } from './issue-key.ts';
import type { Declared } from './key-directory.ts';
import { isoOrNull, keyFacts } from './key-facts.ts';

/** Most secrets of one key that work together. Beyond them a rotation is refused unless it ends the others at once. */
export const secretsMax = 10;

export interface KeyChange {
  /** Author, for the audit log. */
  actor: string;
  nowMs: number;
}

/**
 * A new secret for the same key: its identity, and so its vector data, stays. The secrets of before work for `graceMs`
 * more, 0 = not at all.
 */
export async function rotateKey(
  store: AccountStore,
  key: KeyRow,
  change: KeyChange & { graceMs: number },
): Promise<{ kind: 'rotated'; minted: MintedKey; row: KeyRow } | Failure> {
  const { nowMs, graceMs } = change;
  if (key.revokedMs !== null) return conflict(key, 'is revoked; create another one');
  if (key.expiresMs !== null && key.expiresMs <= nowMs)
    return conflict(key, 'has expired. Give it a later end first, or create another key');
  const minted = mintSecret(key.id);
  const before = graceMs === 0 ? [] : endingAt(key.secrets, nowMs + graceMs, nowMs);
  if (before.length >= secretsMax) {
    return conflict(
      key,
      `has ${before.length} secrets that still work; rotate it with a grace period of 0s to end them`,
    );
  }
  const row: KeyRow = { ...key, secrets: [{ hash: minted.hash, untilMs: null }, ...before] };
  const was = key.secrets.find(({ untilMs }) => untilMs === null)!.hash;
  const done = await store.apply([{ kind: 'replace-secrets', id: key.id, was, secrets: row.secrets }], {
    atMs: nowMs,
    actor: change.actor,
    action: 'key.rotate',
    subject: key.id,
    before: keyFacts(key),
    // Without it, a rotation that ends the old secrets at once would look like no change.
    after: { ...keyFacts(row), old_secrets_until: isoOrNull(nowMs + graceMs) },
  });
  return done === 'done'
    ? { kind: 'rotated', minted, row }
    : conflict(key, 'was changed in the meantime; read it again');
}

/**
 * Sets these members of a key. Its identity, its secrets and the owner of its vector data stay, whatever its name.
 * `changed`: another change came since `key` was read, and nothing is written.
 */
export async function updateKey(
  store: AccountStore,
  key: KeyRow,
  set: Partial<KeySettings>,
  { actor, nowMs, known }: KeyChange & { known: { stored: Stored; declared: Declared } },
): Promise<{ kind: 'updated'; row: KeyRow } | { kind: 'changed' } | Failure> {
  if (key.revokedMs !== null) return conflict(key, 'is revoked; create another one');
  const row: KeyRow = { ...key, ...set };
  const taken = row.name === key.name ? null : (nameProblem(row.name) ?? nameTaken(row, known, key.id));
  if (taken !== null) return taken;
  const done = await store.apply([{ kind: 'update-key', id: key.id, set, was: settingsOf(key) }], {
    atMs: nowMs,
    actor,
    action: 'key.update',
    subject: key.id,
    before: keyFacts(key),
    after: keyFacts(row),
  });
  if (done === 'done') return { kind: 'updated', row };
  return done === 'absent' ? { kind: 'changed' } : conflict(row, 'exists already');
}

function settingsOf({ name, expiresMs, models, ips, limits, guards, tags = [] }: KeyRow): KeySettings {
  return { name, expiresMs, models, ips, limits, guards, tags };
}

/** Ends all its secrets. A key that is revoked already stays as it is. */
export async function revokeKey(store: AccountStore, key: KeyRow, { actor, nowMs }: KeyChange): Promise<KeyRow> {
  if (key.revokedMs !== null) return key;
  const row: KeyRow = { ...key, revokedMs: nowMs };
  // `absent`: another request was faster, and it is revoked, which is all that was asked.
  await store.apply([{ kind: 'revoke-key', id: key.id, atMs: nowMs }], {
    atMs: nowMs,
    actor,
    action: 'key.revoke',
    subject: key.id,
    before: keyFacts(key),
    after: keyFacts(row),
  });
  return row;
}

/** An overlap that is running is never made longer; an overlap that has ended is dropped. */
function endingAt(secrets: readonly KeySecret[], untilMs: number, nowMs: number): KeySecret[] {
  return secrets
    .filter((secret) => secret.untilMs === null || secret.untilMs > nowMs)
    .map((secret) => ({ hash: secret.hash, untilMs: Math.min(secret.untilMs ?? untilMs, untilMs) }));
}

function conflict(key: KeyRow, why: string): Failure {
  return { kind: 'conflict', message: `The key '${key.name}' of account '${key.account}' ${why}.` };
}
